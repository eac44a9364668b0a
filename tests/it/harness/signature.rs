//! Both signatures of a notification, checked by their public descriptions alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha1::Sha1;
use sha2::Sha256;

use super::shop::Received;

/// The older form: `X-BPG-Signature` is the HMAC-SHA1 of the raw body in hex. Its HMAC key is the
/// whole text of the shown key.
pub fn bpg_signature_is_by(notification: &Received, key: &str) -> bool {
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(&notification.body);
    notification.header("x-bpg-signature") == Some(&hex::encode(mac.finalize().into_bytes()))
}

/// Standard Webhooks: one of the space-separated `webhook-signature`s is the HMAC-SHA256 of
/// `id.timestamp.body`. Its HMAC key is the decoded base64 of the shown key.
pub fn webhook_signature_is_by(notification: &Received, key: &str) -> bool {
    let secret = STANDARD.decode(key.strip_prefix("whsec_").unwrap()).unwrap();
    assert_eq!(secret.len(), 32);
    let (Some(id), Some(timestamp)) =
        (notification.header("webhook-id"), notification.header("webhook-timestamp"))
    else {
        return false;
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(&notification.body);
    let wanted = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    notification
        .header("webhook-signature")
        .is_some_and(|value| value.split(' ').any(|one| one == wanted))
}
