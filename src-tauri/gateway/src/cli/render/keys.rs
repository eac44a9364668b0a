//! API keys, and the key that signs notifications.

use crate::cli::table::Align::Left;
use crate::cli::table::{Table, fields};
use crate::console::keys::{KeyItem, NewHmacKey, NewKey};

pub(super) fn keys(items: &[KeyItem]) -> String {
    let mut table = Table::new(&[
        ("key", Left),
        ("permissions", Left),
        ("sees", Left),
        ("notifies", Left),
        ("created", Left),
        ("revoked", Left),
    ]);
    for item in items {
        table.row([
            item.name.clone(),
            item.permissions.join(","),
            if item.own { "its own" } else { "all" }.to_owned(),
            if item.notify_hosts.is_empty() { "any host".to_owned() } else { item.notify_hosts.join(",") },
            item.created.clone(),
            item.revoked.clone().unwrap_or_default(),
        ]);
    }
    table.render("No keys: make one with `tillgate keys create NAME`.")
}

pub(super) fn new_key(key: &NewKey) -> String {
    fields(&[
        ("name", key.name.clone()),
        ("secret", key.secret.clone()),
        ("permissions", key.permissions.join(",")),
        ("", "The secret is shown this once: keep it in the shop's configuration.".to_owned()),
    ])
}

pub(super) fn new_hmac_key(key: &NewHmacKey) -> String {
    fields(&[
        ("key", key.key.clone()),
        ("", "It is shown this once. In webhook-signature the key before it signs beside it for 24 hours; X-BPG-Signature is the new key's at once.".to_owned()),
    ])
}
