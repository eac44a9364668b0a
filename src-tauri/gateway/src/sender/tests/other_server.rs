//! Another server is asked from now on. Attempts at the server before it say nothing about it.

use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::BroadcastFault;

use crate::testing::sending::stage_with_coins;
use crate::testing::stage::Backend;

#[tokio::test]
async fn another_server_is_offered_a_sent_payout_at_once() {
    // The first server of two, and the second after it hung up; a node, and an Electrum server that
    // staff set instead.
    for (backend, next) in [(Backend::Two, Backend::Core), (Backend::Switched, Backend::Electrum)] {
        let mut stage = stage_with_coins(backend).await;
        let payout = stage.world().approved_payout(300_000).await;
        // The first server accepts the transaction and never shows it.
        stage.world().broadcasts(BroadcastFault::Forget);
        stage.world().send().await;
        for _ in 0..3 {
            stage.world().pass_ms(1_000).await;
            stage.world().pass_sender().await;
        }
        assert_eq!(stage.world().payout_state(&payout), PayoutState::Sent);
        stage.world().broadcasts(BroadcastFault::Ok);
        stage.world().look_and_pass().await;
        assert_eq!(
            stage.world().outputs_of(&payout),
            0,
            "the first server gets no further attempt before a block"
        );
        stage.switch(next);
        // The pass reads which server the look asked.
        stage.world().look_and_pass().await;
        assert_eq!(
            stage.world().outputs_of(&payout),
            1,
            "{backend:?}: the next server was not offered it"
        );
    }
}
