import { startBench } from './gateways.ts';
import { climb } from './ladder.ts';
import { aloneLine, ladderTable, rungTable, workloadTable } from './ladder-tables.ts';
import { occasion, writePart } from './page.ts';

/**
 * `npm run bench`: what a request costs. `ladder`: rung by rung, against a bare proxy. `--only TEXT`: workloads whose name has it.
 * `--quick` for a look. `--write` puts the tables into docs/benchmarks.md and bench/results/ladder.md.
 */
const flag = (name: string): boolean => process.argv.includes(name);
const quick = flag('--quick');
const onlyAt = process.argv.indexOf('--only');
const only = onlyAt < 0 ? '' : (process.argv[onlyAt + 1] ?? '');

async function show(page: string, part: string, text: string): Promise<void> {
  process.stdout.write(`${text}\n\n`);
  if (flag('--write')) await writePart(page, part, text);
}

async function ladder(): Promise<void> {
  const rounds = quick ? 5 : 13;
  const bench = await startBench();
  try {
    const tell = (cell: Parameters<typeof workloadTable>[0][number]) =>
      process.stderr.write(`${workloadTable([cell]).split('\n')[2]}\n`);
    const cells = await climb(bench, { rounds, warmUp: quick ? 12_000 : 30_000, isQuick: quick, only }, tell);
    const how = `${occasion()}, ${rounds} interleaved rounds.`;
    await show('bench/results/ladder.md', 'ladder', `${how}\n\n${ladderTable(cells)}`);
    const summary = [how, rungTable(cells), workloadTable(cells), aloneLine(cells)].filter(Boolean);
    await show('docs/benchmarks.md', 'ladder', summary.join('\n\n'));
  } finally {
    await bench.stop();
  }
}

ladder().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
