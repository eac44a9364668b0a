//! The permissions of an API key.

use std::fmt;
use std::str::FromStr;

/// One permission of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Reading payments, anomalies and rates, and resending notifications of payments and
    /// anomalies.
    PaymentsRead,
    /// Making payments.
    PaymentsCreate,
    /// Reading payouts, the limit and estimates, and resending notifications of payouts.
    PayoutsRead,
    /// Asking for payout offers.
    PayoutsCreate,
    /// Approving payouts.
    PayoutsApprove,
}

impl Permission {
    /// All values, in the order in which a set names them.
    pub const ALL: [Self; 5] = [
        Self::PaymentsRead,
        Self::PaymentsCreate,
        Self::PayoutsRead,
        Self::PayoutsCreate,
        Self::PayoutsApprove,
    ];

    /// Its name on the command line and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PaymentsRead => "payments.read",
            Self::PaymentsCreate => "payments.create",
            Self::PayoutsRead => "payouts.read",
            Self::PayoutsCreate => "payouts.create",
            Self::PayoutsApprove => "payouts.approve",
        }
    }
}

/// A set of permissions that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions(Vec<Permission>);

/// A text that names no permissions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "permissions are shop, full, or a comma-separated list of payments.read, payments.create, payouts.read, payouts.create, payouts.approve"
)]
pub struct NotPermissions;

impl Permissions {
    /// Whether the set holds this permission.
    #[must_use]
    pub fn has(&self, permission: Permission) -> bool {
        self.0.contains(&permission)
    }

    /// Their names.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|permission| permission.as_str().to_owned()).collect()
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(","))
    }
}

impl FromStr for Permissions {
    type Err = NotPermissions;

    /// `shop` (payments only), `full`, or a comma-separated list.
    fn from_str(text: &str) -> Result<Self, NotPermissions> {
        match text {
            "shop" => return Ok(Self(vec![Permission::PaymentsRead, Permission::PaymentsCreate])),
            "full" => return Ok(Self(Permission::ALL.to_vec())),
            _ => {}
        }
        let named: Vec<&str> = text.split(',').map(str::trim).collect();
        if named
            .iter()
            .any(|name| Permission::ALL.iter().all(|permission| permission.as_str() != *name))
        {
            return Err(NotPermissions);
        }
        Ok(Self(
            Permission::ALL
                .into_iter()
                .filter(|permission| named.contains(&permission.as_str()))
                .collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_read_back_and_shop_and_full_are_sets() {
        for permission in Permission::ALL {
            let permissions: Permissions = permission.as_str().parse().unwrap();
            assert!(permissions.has(permission));
            assert_eq!(permissions.to_string(), permission.as_str());
        }
        let names =
            |text: &str| text.parse::<Permissions>().map(|permissions| permissions.to_string());
        assert_eq!(names("shop").as_deref(), Ok("payments.read,payments.create"));
        assert_eq!(
            names("full").as_deref().map(|all| all.split(',').count()),
            Ok(Permission::ALL.len())
        );
        assert_eq!(
            names("payouts.read, payments.read").as_deref(),
            Ok("payments.read,payouts.read")
        );
    }

    #[test]
    fn anything_else_names_no_permissions() {
        for text in [
            "",
            "shops",
            "shop,full",
            "payments.read,",
            "payments.read,payments.write",
            "PAYMENTS.READ",
        ] {
            assert_eq!(text.parse::<Permissions>(), Err(NotPermissions), "{text}");
        }
    }
}
