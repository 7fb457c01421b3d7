//! `cargo xtask sim` runs this: many simulated runs, or one of them with everything that happens in it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks through its output")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use team_executor_sim::campaign::{self, Failure, Tally};
use team_executor_sim::one;
use team_executor_sim::scenario::Scenario;

fn main() -> ExitCode {
    match Choice::read(std::env::args().skip(1)) {
        Some(choice) => choice.run(),
        None => {
            eprintln!("usage: sim [--runs N] [--seconds N] [--seed S [--op K] [--trace]]");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug, Default)]
struct Choice {
    runs: Option<u64>,
    seconds: Option<u64>,
    seed: Option<u64>,
    operation: Option<u64>,
    trace: bool,
}

impl Choice {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut choice = Self::default();
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next()?.parse().ok();
            match argument.as_str() {
                "--runs" => choice.runs = Some(number()?),
                "--seconds" => choice.seconds = Some(number()?),
                "--seed" => choice.seed = Some(number()?),
                "--op" => choice.operation = Some(number()?),
                "--trace" => choice.trace = true,
                _ => return None,
            }
        }
        Some(choice)
    }

    fn run(&self) -> ExitCode {
        if self.trace || self.operation.is_some() {
            return self.one();
        }
        let began = Instant::now();
        let mut tally = Tally::default();
        let runs = self.runs.unwrap_or(u64::MAX);
        let limit = Duration::from_secs(self.seconds.unwrap_or(u64::MAX / 2));
        let mut go_on = |tally: &Tally| tally.runs < runs && began.elapsed() < limit;
        let mut result = Ok(());
        for seed in self.seed.unwrap_or(0).. {
            if result.is_err() || !go_on(&tally) {
                break;
            }
            result = campaign::seed(seed, &mut tally, &mut go_on);
        }
        let seconds = began.elapsed().as_secs_f64();
        let Tally { runs, seeds, strikes, executors, given_up } = tally;
        let rate = runs as f64 / seconds.max(0.001);
        println!(
            "{runs} runs of {seeds} seeds in {seconds:.1} s ({rate:.0} a second): {strikes} crashes and faults, {executors} \
             executors, {given_up} given up for spoiled data"
        );
        verdict(result)
    }

    fn one(&self) -> ExitCode {
        let seed = self.seed.unwrap_or(0);
        let Some(scenario) = Scenario::new(seed) else { return ExitCode::FAILURE };
        let report = one::run(&scenario, self.operation, self.trace);
        if self.trace {
            println!("{:#?}\n{:#?}", scenario.policy, scenario.weather);
            for task in scenario.tasks() {
                let needs: Vec<_> = task.dependencies.iter().map(|id| id.as_str()).collect();
                println!(
                    "{} needs {needs:?} {} {} {} {} {}",
                    task.id, task.role, task.priority, task.exec_mode, task.run_on, task.status
                );
            }
        }
        print!("{}", report.trace.unwrap_or_default());
        println!("{} operations of the first executor, {:?}", report.first, report.statuses);
        let failure = |broken| Failure { seed, operation: self.operation, broken };
        verdict(report.broken.map_or(Ok(()), |broken| Err(failure(broken))))
    }
}

fn verdict(result: Result<(), Failure>) -> ExitCode {
    let Err(Failure { seed, operation, broken }) = result else {
        println!("nothing is broken");
        return ExitCode::SUCCESS;
    };
    let operation = operation.map(|operation| format!(" --op {operation}")).unwrap_or_default();
    eprintln!("broken: {broken}; again with `cargo xtask sim --seed {seed}{operation} --trace`");
    ExitCode::FAILURE
}
