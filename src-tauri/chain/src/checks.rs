//! Rules for every backend: a server's answers are checked, bounded and judged here. This module
//! never contacts a server.

pub mod bounds;
pub mod conflicts;
pub mod errors;
pub mod header_rules;
pub mod merkle_proof;
pub mod relay_policy;
pub mod sanitized;
pub mod token;
