//! The log of acts.

use serde_json::{Value, json};
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::world_with_coins;

use crate::{Actor, Command, dispatch};

async fn answer(world: &World, command: Value) -> Value {
    let command: Command = serde_json::from_value(command).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await.unwrap()
}

/// A world in which a person made two keys, revoked one, and changed a setting.
async fn busy_world() -> World {
    let world = world_with_coins(0).await;
    for name in ["webshop", "till_2"] {
        let key = json!({"command": "createKey", "name": name, "permissions": "shop"});
        answer(&world, key).await;
    }
    answer(&world, json!({"command": "revokeKey", "name": "webshop"})).await;
    let setting = json!({"command": "setSetting", "name": "merchantName", "value": "Café Blau"});
    answer(&world, setting).await;
    world
}

async fn acts(world: &World, narrowing: Value) -> Vec<(String, String)> {
    let mut command = json!({"command": "listActs", "limit": 50, "offset": 0});
    command.as_object_mut().unwrap().extend(narrowing.as_object().unwrap().clone());
    let told = |item: &Value| {
        (item["act"].as_str().unwrap().to_owned(), item["subject"].as_str().unwrap().to_owned())
    };
    answer(world, command).await["items"].as_array().unwrap().iter().map(told).collect()
}

#[tokio::test]
async fn the_log_tells_who_did_what_the_newest_first() {
    let world = busy_world().await;
    let act = |act: &str, subject: &str| (act.to_owned(), subject.to_owned());
    let all = acts(&world, json!({})).await;
    assert_eq!(all[0], act("settings set", "merchantName"));
    assert_eq!(all[1], act("keys revoke", "webshop"));
    let keys = acts(&world, json!({"about": "keys"})).await;
    assert_eq!(
        keys,
        [
            act("keys revoke", "webshop"),
            act("keys create", "till_2"),
            act("keys create", "webshop")
        ]
    );
    assert!(acts(&world, json!({"actor": "panel:nobody"})).await.is_empty());
    assert!(acts(&world, json!({"to": 0})).await.is_empty());
    let first = json!({"command": "listActs", "limit": 1, "offset": 1, "about": "keys"});
    let page = answer(&world, first).await;
    assert_eq!(page["itemsCount"], 3);
    assert_eq!(page["items"][0]["subject"], "till_2");
    let me = Actor::panel();
    assert!(page["actors"].as_array().unwrap().contains(&json!(me.as_str())));
}

#[tokio::test]
async fn the_log_is_a_table_for_spreadsheets() {
    let world = busy_world().await;
    let table = answer(&world, json!({"command": "actsSheet", "about": "keys"})).await;
    assert_eq!(table["rows"], 3);
    let lines: Vec<&str> = table["text"].as_str().unwrap().lines().collect();
    assert_eq!(lines[0], "time,person,act,subject");
    assert!(lines[1].ends_with(",keys revoke,webshop"), "{}", lines[1]);
}
