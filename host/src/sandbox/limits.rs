//! What one call may use of memory and tables, added up over everything in its store.

use wasmtime::ResourceLimiter;

/// Elements of all tables of a call together. An interpreter needs some ten thousand.
const MAX_TABLE_ELEMENTS: usize = 400_000;

/// Counts linear memory and tables. wasmtime's own limiter judges each memory by itself, so a
/// component with many memories would get the limit many times over.
#[derive(Debug)]
pub(super) struct MemoryMeter {
    limit: usize,
    used: usize,
    peak: usize,
    tables: usize,
    refused: bool,
}

impl MemoryMeter {
    /// `limit` in bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0, peak: 0, tables: 0, refused: false }
    }

    /// Bytes of linear memory at the most.
    pub(super) fn peak(&self) -> u64 {
        self.peak as u64
    }

    /// Whether the guest asked for more than it may have.
    pub(super) fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for MemoryMeter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let after = self.used.saturating_add(desired.saturating_sub(current));
        if after > self.limit {
            self.refused = true;
            return Ok(false);
        }
        self.used = after;
        self.peak = self.peak.max(after);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let after = self.tables.saturating_add(desired.saturating_sub(current));
        if after > MAX_TABLE_ELEMENTS {
            self.refused = true;
            return Ok(false);
        }
        self.tables = after;
        Ok(true)
    }

    fn instances(&self) -> usize {
        100
    }

    fn tables(&self) -> usize {
        32
    }

    fn memories(&self) -> usize {
        8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p04_all_memories_count_together() {
        let mut meter = MemoryMeter::new(100);
        for (current, desired, granted) in
            [(0, 60, true), (0, 60, false), (0, 40, true), (40, 41, false)]
        {
            assert_eq!(meter.memory_growing(current, desired, None).ok(), Some(granted));
        }
        assert_eq!(meter.peak(), 100);
        assert!(meter.refused());
    }
}
