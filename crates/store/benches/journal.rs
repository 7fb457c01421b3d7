//! What durability costs: commits of 1, 4 and 16 records on the disk of the target folder, and recovery of 100,000
//! records. The goals: recovery under 1 s, and a commit of 16 that costs about as much as a commit of 1.

#![expect(clippy::expect_used, reason = "a benchmark without a journal has nothing to measure")]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use team_executor_store::{Disk, Journal, RealDisk, recover};

const RECORDS: u64 = 100_000;
const RECORD: &str = r#"{"kind":"outcome","task":"IMPL-001","attempt":"3-1","status":"completed","findings":"Added the endpoint, all 41 tests pass"}"#;

fn bench(criterion: &mut Criterion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let disk = RealDisk::open_folder(Path::new(folder.path())).expect("the folder opens");

    let mut group = criterion.benchmark_group("commit");
    group.sample_size(20);
    for size in [1_u64, 4, 16] {
        let mut journal = Journal::create(&disk, &format!("journal-{size}")).expect("a new journal");
        group.throughput(Throughput::Elements(size));
        group.bench_function(format!("{size} records"), |b| {
            b.iter(|| {
                for _ in 0..size {
                    journal.append(RECORD).expect("appended");
                }
                journal.commit().expect("committed");
            });
        });
    }
    group.finish();

    let mut journal = Journal::create(&disk, "long").expect("a new journal");
    for seq in 0..RECORDS {
        journal.append(RECORD).expect("appended");
        if seq % 4 == 3 && seq < 400 || seq + 1 == RECORDS {
            journal.commit().expect("committed");
        }
    }
    let bytes = disk.read("long").expect("readable");
    let mut group = criterion.benchmark_group("100,000 records");
    group.sample_size(20).throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("recover", |b| b.iter(|| recover(black_box(&bytes)).map(|found| found.records.len())));
    group.bench_function("open, with the write and the sync", |b| {
        b.iter(|| Journal::open(&disk, "long").map(|(_, history)| history.records().len()));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
