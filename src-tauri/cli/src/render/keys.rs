//! API keys, and the key that signs notifications.

use tillgate_console::keys::{KeyItem, NewHmacKey, NewKey, RevokedKey};
use tillgate_domain::plain::plain;
use tillgate_domain::words::count;

use crate::table::Align::Left;
use crate::table::{Table, fields};

pub fn keys(items: &[KeyItem]) -> String {
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
            if item.own { "its own".to_owned() } else { "all".to_owned() },
            if item.notify_hosts.is_empty() {
                "any host".to_owned()
            } else {
                item.notify_hosts.join(",")
            },
            item.created.clone(),
            item.revoked.clone().unwrap_or_default(),
        ]);
    }
    table.render("No keys: make one with `tillgate keys create NAME`.")
}

/// The text for a revoked key. It says what happens to the payouts that the key requested, if there
/// are any.
pub fn revoked_key(view: &RevokedKey) -> String {
    let name = plain(&view.key.name);
    let mut text = format!("The key {name} is revoked: it is refused from now on.\n");
    if view.payouts_new > 0 {
        let offers = count(view.payouts_new, "offer of this key waits", "offers of this key wait");
        text.push_str(&format!(
            "{offers} for approval: approve none that you do not recognise. An offer that is not approved expires.\n"
        ));
    }
    if view.payouts_queued > 0 {
        let queued = count(
            view.payouts_queued,
            "approved payout of this key is",
            "approved payouts of this key are",
        );
        text.push_str(&format!(
            "{queued} still sent unless cancelled: `tillgate payouts abandon ID`.\n"
        ));
    }
    if view.payouts_new + view.payouts_queued > 0 {
        text.push_str(&format!(
            "`tillgate payouts list --search {name}` lists all payouts that the key requested.\n"
        ));
    }
    text
}

pub fn new_key(key: &NewKey) -> String {
    fields(&[
        ("name", key.name.clone()),
        ("secret", key.secret.clone()),
        ("permissions", key.permissions.join(",")),
        ("", "The secret is shown only once: keep it in the shop's configuration.".to_owned()),
    ])
}

pub fn new_hmac_key(key: &NewHmacKey) -> String {
    fields(&[
        ("key", key.key.clone()),
        ("", "The key is shown only once. A replaced key signs webhook-signature too for 24 hours; X-BPG-Signature uses only the new key.".to_owned()),
    ])
}
