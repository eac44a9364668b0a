//! The sandbox as its callers see it: a real file, real blocks, real signatures.

mod calls;
mod common;
