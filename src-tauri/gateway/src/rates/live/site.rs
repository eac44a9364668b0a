//! A public server that gives quotes.

use tillgate_domain::money::Currency;

use super::answer::{Quoted, Unreadable};

/// The address of a server, its request, and the reader of its answer.
pub struct Site {
    /// The name in the setting `rateSources` and in certificates.
    pub name: &'static str,
    /// Scheme and host.
    pub base: &'static str,
    /// The path and query that ask for these currencies; `None` if the server has none of them.
    pub path: fn(&[Currency]) -> Option<String>,
    /// Parses the server's answer, strictly. A currency that the answer lacks is left out.
    pub parse: fn(&str, &[Currency]) -> Result<Vec<Quoted>, Unreadable>,
}
