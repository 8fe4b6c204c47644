//! Text for models and people: what is safe to show, and what fits. Pure functions.

mod clip;
mod escape;

pub use clip::{clip_end, clip_middle, floor_boundary};
pub use escape::{escape_line, escape_text};
