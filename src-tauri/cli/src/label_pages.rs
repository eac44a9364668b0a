//! Prints labels for other wallet programs (BIP329), page by page as they are read.

use tillgate_console::wallet::{WalletLabels, WalletLabelsView};

use super::args::Form;
use super::failure::Failure;
use super::gateway_client::GatewayClient;
use super::output::print_answer;

/// Asks for page after page, and prints each.
pub async fn run(
    asked: &WalletLabels,
    form: Form,
    gateway: &mut GatewayClient<'_>,
) -> Result<(), Failure> {
    let mut after = None;
    let mut is_begun = false;
    loop {
        let page = gateway.answer_of(&WalletLabels { after, ..asked.clone() }).await?;
        print_answer(&render(&page, form, &mut is_begun)?)?;
        if page.next.is_none() {
            break;
        }
        after = page.next;
    }
    if form == Form::Json {
        print_answer(if is_begun { "]}\n" } else { "{\"items\":[]}\n" })?;
    }
    Ok(())
}

/// The text of a page: one label on each line (BIP329), or members of a JSON document's list.
fn render(
    page: &WalletLabelsView,
    form: Form,
    is_begun: &mut bool,
) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for label in &page.items {
        let label = serde_json::to_string(label)?;
        match form {
            Form::Json => {
                text.push_str(if *is_begun { "," } else { "{\"items\":[" });
                text.push_str(&label);
            }
            Form::Text | Form::Table => text.push_str(&(label + "\n")),
        }
        *is_begun = true;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tillgate_store::labels::{Labelled, LabelledKind};

    use super::*;
    use tillgate_console::wallet::Label;
    use tillgate_console::{Actor, ask};
    use tillgate_gateway::testing::World;

    /// All labels, asked for in pages of `limit` outputs.
    async fn all(world: &World, limit: u32) -> Vec<String> {
        let (mut lines, mut after) = (Vec::new(), None);
        loop {
            let page = ask(&world.app, WalletLabels { after, limit: Some(limit) }, &Actor::panel())
                .await
                .unwrap();
            lines.extend(render(&page, Form::Text, &mut false).unwrap().lines().map(str::to_owned));
            after = page.next;
            if after.is_none() {
                return lines;
            }
        }
    }

    #[tokio::test]
    async fn labels_in_pages_equal_one_page_without_repeats() {
        let world = World::new().await;
        world.make_wallet().await;
        assert_eq!(all(&world, 1).await, Vec::<String>::new());
        for _ in 0..3 {
            let payment = world.payment_to_wallet().await;
            world.customer_pays(&payment, 1_000_000);
            world.customer_pays(&payment, 300_000);
        }
        world.mine(2).await;
        for amount in [300_000, 200_000] {
            world.approved_payout(amount).await;
        }
        world.look().await;
        world.send().await;
        let own = all(&world, 1_000).await;
        let label_anew = own
            .iter()
            .step_by(3)
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<Label>>();
        let anew = label_anew.len();
        let write = move |tx: &tillgate_store::Tx<'_>| {
            for Label { kind, reference, .. } in &label_anew {
                let kind = LabelledKind::named(kind).unwrap();
                tx.import_label(&Labelled {
                    kind,
                    reference: reference.clone(),
                    label: "by Ann".to_owned(),
                })?;
            }
            Ok::<_, tillgate_store::StoreError>(())
        };
        world.gateway.store.write(write).await.unwrap();
        let whole = all(&world, 1_000).await;
        assert_eq!(whole.iter().filter(|line| line.contains("by Ann")).count(), anew, "{whole:?}");
        let things: BTreeSet<String> =
            whole.iter().map(|line| line.split("\"label\"").next().unwrap().to_owned()).collect();
        assert_eq!(things.len(), whole.len(), "{whole:?}");
        for (kind, count) in [("tx", 7), ("addr", 5), ("output", 9)] {
            let of_kind =
                whole.iter().filter(|line| line.contains(&format!("\"type\":\"{kind}\""))).count();
            assert_eq!(of_kind, count, "{kind}: {whole:?}");
        }
        for limit in [1, 2, 5] {
            let pages = all(&world, limit).await;
            assert_eq!(pages.len(), whole.len(), "in pages of {limit}");
            assert_eq!(
                pages.into_iter().collect::<BTreeSet<_>>(),
                whole.iter().cloned().collect(),
                "in pages of {limit}"
            );
        }
    }
}
