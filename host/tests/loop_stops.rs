//! What ends a run before the model has answered: budgets, Ctrl-C, a log that fails.

mod loop_support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clawhold::agent::{Agent, AgentBuilder, AgentError, Budget, Price, RunReport};
use clawhold::journal::Journal;
use clawhold::model::{Role, StopReason, ToolReply};
use clawhold::provider::Provider;
use loop_support::{
    FakeModel, Step, asks, assert_paired, call, echo, fake, log_of, registry, says, sleep,
};
use tokio_util::sync::CancellationToken;

/// A model that asks for one more call for ever.
fn tireless(tool: &str) -> Arc<FakeModel> {
    FakeModel::new((0..500).map(|i| asks("", vec![call(&format!("c{i}"), tool, "{}")])))
}

fn builder(model: &Arc<FakeModel>) -> AgentBuilder {
    let model: Arc<dyn Provider> = Arc::clone(model) as _;
    let tools = [
        echo("t"),
        fake("hangs", "w", |_, _| std::future::pending()),
        fake("polite", "w", |_, context| async move {
            context.cancel.cancelled().await;
            ToolReply::text("stopped in good order")
        }),
    ];
    Agent::builder(model, registry(tools), ".")
}

async fn run(builder: AgentBuilder) -> (RunReport, Agent) {
    let mut agent = builder.build().expect("good");
    let report = agent.run("go").await.expect("a report");
    assert_paired(agent.messages());
    (report, agent)
}

#[tokio::test]
async fn req_084_each_budget_stops_before_the_next_request() {
    let none = Budget { turns: 0, tokens: 0, seconds: 0, cost: 0.0 };
    // One request is 100 tokens in, of which 50 cached, and 10 out; at these prices it costs 1.
    let price = Price { input: 10_000.0, cached: 10_000.0, output: 0.0 };
    for (budget, turns, stop, code) in [
        (Budget { turns: 3, ..none }, 3, StopReason::TurnsExhausted, 3),
        (Budget { tokens: 250, ..none }, 3, StopReason::TokensExhausted, 3),
        (Budget { cost: 2.0, ..none }, 2, StopReason::CostExhausted, 3),
        (Budget::default(), 100, StopReason::TurnsExhausted, 3),
    ] {
        let model = tireless("t");
        let (report, agent) = run(builder(&model).budget(budget).price(Some(price))).await;
        assert_eq!((report.turns, report.stop, report.stop.exit_code()), (turns, stop, code));
        assert_eq!(model.asked(), turns as usize);
        assert_eq!(
            agent.messages().last().map(|m| m.role),
            Some(Role::Tool),
            "the last calls have results"
        );
    }
}

#[tokio::test]
async fn n39_time_runs_out_in_the_middle_of_a_call() {
    for (tool, expect) in [("hangs", "interrupted after"), ("polite", "stopped in good order")] {
        let model = tireless(tool);
        let budget = Budget { seconds: 1, ..Budget::default() };
        let begun = Instant::now();
        let (report, agent) = run(builder(&model).budget(budget)).await;
        assert_eq!((report.stop, report.stop.exit_code()), (StopReason::SecondsExhausted, 124));
        assert!(begun.elapsed() < Duration::from_secs(2));
        let last = &agent.messages().last().expect("a result").content;
        assert!(last.contains(expect), "{tool}: {last}");
    }
}

#[tokio::test]
async fn n39_time_runs_out_in_the_middle_of_a_reply() {
    let model = FakeModel::new([Step::Hang]);
    let (report, agent) =
        run(builder(&model).budget(Budget { seconds: 1, ..Budget::default() })).await;
    assert_eq!(report.stop, StopReason::SecondsExhausted);
    assert_eq!(agent.messages().len(), 1, "nothing of the broken reply stays");
}

#[tokio::test]
async fn n40_ctrl_c_stops_within_a_second_wherever_the_run_is() {
    for (steps, expect) in [
        (vec![Step::Hang], 1),
        (vec![asks("", vec![call("1", "hangs", "{}"), call("2", "t", "{}")])], 4),
    ] {
        for terminate in [false, true] {
            let token = CancellationToken::new();
            let trigger = token.clone();
            let model = FakeModel::new(std::iter::once(match &steps[0] {
                Step::Reply(reply) => Step::Reply(reply.clone()),
                _ => Step::Hang,
            }));
            let builder = builder(&model);
            let builder = if terminate { builder.terminate(token) } else { builder.cancel(token) };
            let mut agent = builder.build().expect("good");
            let ctrl_c = tokio::spawn(async move {
                sleep(50).await;
                let at = Instant::now();
                trigger.cancel();
                at
            });
            let report = agent.run("go").await.expect("a report");
            assert!(ctrl_c.await.expect("no panic").elapsed() < Duration::from_secs(1));
            let stop = if terminate { StopReason::Terminated } else { StopReason::Interrupted };
            assert_eq!(report.stop, stop);
            assert_eq!(report.stop.exit_code(), if terminate { 143 } else { 130 });
            assert_paired(agent.messages());
            assert_eq!(agent.messages().len(), expect);
        }
    }
}

#[tokio::test]
async fn n40_a_run_that_is_cancelled_before_it_begins_asks_nothing() {
    let token = CancellationToken::new();
    token.cancel();
    let model = FakeModel::new([says("never")]);
    let (report, _) = run(builder(&model).cancel(token)).await;
    assert_eq!((report.stop, report.turns, model.asked()), (StopReason::Interrupted, 0, 0));
}

#[tokio::test]
async fn req_082_a_chat_goes_on_after_ctrl_c() {
    let token = CancellationToken::new();
    let model = FakeModel::new([Step::Hang, says("here I am")]);
    let mut agent = builder(&model).cancel(token.clone()).build().expect("good");
    let (report, ()) = tokio::join!(agent.run("go"), async {
        sleep(20).await;
        token.cancel();
    });
    assert_eq!(report.expect("a report").stop, StopReason::Interrupted);
    agent.set_cancel(CancellationToken::new());
    assert_eq!(agent.run("still there?").await.expect("a report").answer, "here I am");
}

#[tokio::test]
async fn the_log_says_why_a_run_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Arc::new(Journal::create(folder.path(), folder.path(), "m").expect("a log"));
    let budget = Budget { turns: 1, ..Budget::default() };
    run(builder(&tireless("t")).budget(budget).journal(Arc::clone(&journal))).await;
    assert_eq!(
        log_of(journal.path()).last().map(|r| r["reason"].clone()),
        Some("turns-exhausted".into())
    );
}

#[tokio::test]
async fn c11_a_reply_that_cannot_be_logged_is_not_acted_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Arc::new(Journal::create(folder.path(), folder.path(), "m").expect("a log"));
    // Over the longest record, so the log refuses the reply and its call must not begin.
    let arguments = format!("{{\"path\":\"{}\"}}", "x".repeat(clawhold::journal::MAX_RECORD));
    let model = FakeModel::new([asks("", vec![call("1", "t", &arguments)]), says("ok")]);
    let mut agent = builder(&model).journal(journal).build().expect("good");
    let error = agent.run("go").await.expect_err("the log refuses");
    assert!(matches!(error, AgentError::Journal(_)), "{error}");
    assert!(error.to_string().contains("over the log's limit"), "{error}");
    assert_paired(agent.messages());
    assert_eq!(model.asked(), 1);
}
