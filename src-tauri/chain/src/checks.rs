//! Rules for every backend: a server's answers are checked, bounded and judged here. This module never contacts a
//! server.

pub(super) mod bounds;
pub mod conflicts;
pub(super) mod errors;
pub(super) mod header_rules;
pub(super) mod merkle_proof;
pub(super) mod relay_policy;
pub(super) mod sanitized;
pub mod token;
