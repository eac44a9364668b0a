//! API keys, and the key that signs notifications.

use tillgate_domain::words::count;

use crate::cli::table::Align::Left;
use crate::cli::table::{Table, fields, plain};
use crate::console::keys::{KeyItem, NewHmacKey, NewKey, RevokedKey};

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

/// The text for a revoked key. It says what happens to the payouts that the key requested, if there are any.
pub(super) fn revoked_key(view: &RevokedKey) -> String {
    let name = plain(&view.key.name);
    let mut text = format!("The key {name} is revoked: it is refused from now on.\n");
    if view.payouts_new > 0 {
        let offers = count(view.payouts_new, "offer of its waits", "offers of its wait");
        text.push_str(&format!(
            "{offers} for approval: do not approve what you do not know; they lapse by themselves.\n"
        ));
    }
    if view.payouts_queued > 0 {
        let queued = count(view.payouts_queued, "approved payout of its is", "approved payouts of its are");
        text.push_str(&format!("{queued} sent all the same, unless you stop them: `tillgate payouts abandon ID`.\n"));
    }
    if view.payouts_new + view.payouts_queued > 0 {
        text.push_str(&format!("`tillgate payouts list --search {name}` lists all that it asked for.\n"));
    }
    text
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
        ("", "It is shown this once. If a key was replaced, it signs in webhook-signature too for 24 hours; X-BPG-Signature is the new key's at once.".to_owned()),
    ])
}
