//! Text for models and people: what is safe to show, and what fits. Pure functions.

mod clip;
mod decode;
mod escape;
mod nearest;
mod plain;

pub use clip::{clip_end, clip_middle, floor_boundary};
pub use decode::{Detector, OutputEncoding, decode, decode_as};
pub use escape::{escape_line, escape_text};
pub use nearest::nearest;
pub use plain::plain_text;
