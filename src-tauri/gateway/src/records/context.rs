//! The facts that all records of one snapshot share.

use tillgate_domain::id::Id;
use tillgate_machine::environment::Environment;

use super::object::Object;

/// Facts of a record that its own rows do not hold.
#[derive(Debug, Clone, Copy)]
pub struct RecordContext<'a> {
    /// Records of the test environment have the member `"environment": "test"`.
    pub environment: Environment,
    pub merchant_id: Id,
    /// The URL of the payment pages, without a slash at the end: `http://127.0.0.1:7421/pay`.
    pub pages_base: &'a str,
    /// Height of the best block in the rows' snapshot, for confirmations.
    pub tip_height: u32,
}

/// Adds the member that marks a record of the test environment.
pub fn mark_environment(object: &mut Object, environment: Environment) {
    match environment {
        Environment::Test => object.text("environment", environment.as_str()),
        Environment::Production => {}
    }
}
