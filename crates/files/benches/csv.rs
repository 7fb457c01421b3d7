//! How long a table of 100,000 rows takes, next to the reader that everybody knows.

#![expect(clippy::expect_used, reason = "a benchmark that cannot read its own table has nothing to measure")]

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use team_executor_files::csv;

fn table() -> String {
    let mut text = String::from("id,title,description,role,deps,context,phase,priority,wave,status,findings\n");
    for row in 0..100_000 {
        writeln!(
            text,
            "IMPL-{row:06},Build part {row},\"Write it, test it and say \"\"done\"\"\",developer,IMPL-{:06},,impl,P1,{},pending,",
            row / 2,
            row % 9
        )
        .expect("a string takes everything");
    }
    text
}

fn bench(criterion: &mut Criterion) {
    let text = table();
    let mut group = criterion.benchmark_group("csv");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(20);
    group.bench_function("ours", |b| b.iter(|| csv::parse(black_box(&text)).map(|t| t.records().len())));
    group.bench_function("ours, every value", |b| {
        b.iter(|| {
            let table = csv::parse(black_box(&text)).expect("the table is good");
            table.records().flat_map(|record| record.cells()).map(|cell| cell.value.len()).sum::<usize>()
        });
    });
    group.bench_function("csv crate, one record at a time", |b| {
        b.iter(|| {
            let mut reader = ::csv::Reader::from_reader(black_box(text.as_bytes()));
            let mut record = ::csv::StringRecord::new();
            let mut bytes = 0;
            while reader.read_record(&mut record).expect("the table is good") {
                bytes += record.iter().map(str::len).sum::<usize>();
            }
            bytes
        });
    });
    group.bench_function("csv crate, all records kept", |b| {
        b.iter(|| {
            let mut reader = ::csv::Reader::from_reader(black_box(text.as_bytes()));
            reader.records().collect::<Result<Vec<_>, _>>().expect("the table is good").len()
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
