//! Keys: the API keys of programs, and the HMAC key that signs notifications.

use std::fmt;

use serde::{Deserialize, Serialize};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::permission::NotPermissions;
use tillgate_gateway::access::api_keys::KeyRequest;
use tillgate_gateway::gateway::Gateway;
use tillgate_store::Reader;
use tillgate_store::api_keys::ApiKey;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payout_lists::PayoutFilter;
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::page::Page;

/// Lists the API keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListKeys {}

/// Makes an API key. Only this answer shows its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CreateKey {
    /// The key's name: letters, digits, underscore; 1 to 64.
    pub name: String,
    /// The permissions: `shop`, `full`, or a comma-separated list.
    pub permissions: String,
    /// Whether payments of this key need no `notificationUrl`.
    #[serde(default)]
    pub notification_url_optional: bool,
    /// Whether the key sees and resends only its own records.
    #[serde(default)]
    pub own: bool,
    /// Hosts to which its notifications may be sent; empty for all.
    #[serde(default)]
    pub notify_hosts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RevokeKey {
    pub name: String,
}

/// Makes a new HMAC key. For 24 hours `webhook-signature` also holds a signature by the former key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RotateHmacKey {}

/// An API key without its secret. The gateway stores only a hash of the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct KeyItem {
    /// The key's name: the user name of Basic authentication.
    pub name: String,
    /// The permissions: `payments.read`, …
    pub permissions: Vec<String>,
    /// Whether its payments need no `notificationUrl`.
    pub notification_url_optional: bool,
    /// Whether the key sees and resends only its own records.
    #[serde(default)]
    pub own: bool,
    /// Hosts to which its notifications may be sent; empty for all.
    #[serde(default)]
    pub notify_hosts: Vec<String>,
    /// When it was made, ISO 8601.
    pub created: String,
    /// When it was revoked, ISO 8601.
    pub revoked: Option<String>,
}

/// A revoked key, with the number of its payouts that may still be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RevokedKey {
    #[serde(flatten)]
    pub key: KeyItem,
    /// The number of its payouts in state NEW. They can still be approved.
    #[ts(type = "number")]
    pub payouts_new: u64,
    /// The number of its payouts in state QUEUED. They are still sent.
    #[ts(type = "number")]
    pub payouts_queued: u64,
}

/// A new API key with its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NewKey {
    pub name: String,
    /// The key's secret, shown only in this answer.
    pub secret: String,
    /// The permissions: `payments.read`, …
    pub permissions: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NewHmacKey {
    /// The key, `whsec_…`, shown only in this answer.
    pub key: String,
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey")
            .field("name", &self.name)
            .field("secret", &"[REDACTED]")
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for NewHmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewHmacKey([REDACTED])")
    }
}

impl From<&ApiKey> for KeyItem {
    fn from(key: &ApiKey) -> Self {
        Self {
            name: key.name.clone(),
            permissions: key.permissions.names(),
            notification_url_optional: key.notification_url_optional,
            own: key.own_only,
            notify_hosts: key.notify_hosts.names().to_vec(),
            created: key.created_at.iso_seconds(),
            revoked: key.revoked_at.map(|at| at.iso_seconds()),
        }
    }
}

impl Ask for ListKeys {
    type Answer = Page<KeyItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Page<KeyItem>, CommandError> {
        Ok(Page::whole(by.gateway().access.keys.list()?.iter().map(KeyItem::from).collect()))
    }
}

impl Ask for CreateKey {
    type Answer = NewKey;

    async fn answer(self, by: &Asker<'_>) -> Result<NewKey, CommandError> {
        let gateway = by.gateway();
        let refused = |error: NotPermissions| CommandError::at("permissions", &error);
        let permissions = self.permissions.parse().map_err(refused)?;
        let hosts = NotifyHosts::parse(&self.notify_hosts);
        let request = KeyRequest {
            name: self.name,
            permissions,
            notification_url_optional: self.notification_url_optional,
            own_only: self.own,
            notify_hosts: hosts.map_err(|error| CommandError::invalid("notifyHosts", &error))?,
        };
        let made = gateway.access.keys.create(
            request,
            gateway.machine.entropy.as_ref(),
            gateway.time.now(),
            by.actor,
        );
        let (key, secret) = made.await?;
        gateway.signals.note_change();
        Ok(NewKey { name: key.name.clone(), secret, permissions: key.permissions.names() })
    }
}

impl Ask for RevokeKey {
    type Answer = RevokedKey;

    async fn answer(self, by: &Asker<'_>) -> Result<RevokedKey, CommandError> {
        let gateway = by.gateway();
        let key = gateway.access.keys.revoke(&self.name, gateway.time.now(), by.actor).await?;
        gateway.signals.note_change();
        let key_id = Some(key.key_id);
        let counts = move |_: &Gateway, reader: &Reader<'_>| {
            let count = |state| {
                reader.payouts_count(&PayoutFilter {
                    states: vec![state],
                    key_id,
                    ..PayoutFilter::default()
                })
            };
            Ok((count(PayoutState::New)?, count(PayoutState::Queued)?))
        };
        let (payouts_new, payouts_queued) = by.read(counts).await?;
        Ok(RevokedKey { key: KeyItem::from(&key), payouts_new, payouts_queued })
    }
}

impl Ask for RotateHmacKey {
    type Answer = NewHmacKey;

    async fn answer(self, by: &Asker<'_>) -> Result<NewHmacKey, CommandError> {
        let key = by.app.notifier.keys.rotate(by.actor).await?;
        by.gateway().signals.note_change();
        Ok(NewHmacKey { key: key.reveal().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payouts::ListPayouts;
    use crate::{Actor, ask};
    use tillgate_gateway::access::record_scope::RecordScope;
    use tillgate_gateway::payouts::{
        self, Approver, OfferRequest, Offered, PayoutRequest, Permit, Requester,
    };
    use tillgate_gateway::testing::World;

    /// Requests a payout with this key.
    async fn offer(world: &World, key: &ApiKey) -> tillgate_domain::id::Id {
        let requester = Requester {
            key_id: Some(key.key_id),
            name: key.name.clone(),
            notify_hosts: NotifyHosts::default(),
        };
        let payout = PayoutRequest {
            btc_amount: Some("0.01".into()),
            currency: Some("USD".into()),
            address: Some("bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080".into()),
            ..PayoutRequest::default()
        };
        let request = OfferRequest {
            requester,
            payout,
            is_approved: false,
            once: None,
            permit: Permit::none(),
            again: false,
        };
        match payouts::offer(&world.gateway, request).await {
            Ok(Offered::New { payout_id, .. }) => payout_id,
            Ok(Offered::Again(_)) | Err(_) => panic!("no offer"),
        }
    }

    async fn found(world: &World, name: &str) -> u64 {
        let search = Some(name.to_owned());
        let list = ListPayouts { limit: 10, offset: 0, states: Vec::new(), search };
        ask(&world.app, list, &Actor::panel()).await.unwrap().items_count
    }

    #[tokio::test]
    async fn a_keys_payouts_are_found_by_name_and_counted_at_revocation() {
        let world = World::new().await;
        world.make_wallet().await;
        world.look().await;
        let create = CreateKey {
            name: "till".to_owned(),
            permissions: "payouts.create,payouts.read".to_owned(),
            notification_url_optional: true,
            own: false,
            notify_hosts: Vec::new(),
        };
        ask(&world.app, create, &Actor::panel()).await.unwrap();
        let key = world.gateway.store.read(|reader| reader.live_api_key("till")).unwrap().unwrap();
        for is_approved in [false, false, true] {
            let id = offer(&world, &key).await;
            if is_approved {
                let approver = Approver {
                    name: "panel:ann".to_owned(),
                    scope: RecordScope::Everything,
                    is_person: true,
                };
                payouts::approve(&world.gateway, id, approver).await.unwrap();
            }
        }
        world.approved_payout(100_000).await;
        assert_eq!((found(&world, "till").await, found(&world, "cli:ann").await), (3, 1));
        assert_eq!(found(&world, "nobody").await, 0);
        let revoked =
            ask(&world.app, RevokeKey { name: "till".to_owned() }, &Actor::panel()).await.unwrap();
        assert_eq!((revoked.payouts_new, revoked.payouts_queued), (2, 1));
        assert_eq!(
            found(&world, "till").await,
            3,
            "a revoked key's payouts can still be found by its name"
        );
    }
}
