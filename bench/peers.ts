import { startBench } from './gateways.ts';
import { occasion, writePart } from './page.ts';
import { compareLoad } from './peers/compare.ts';
import { compareFaults } from './peers/faults.ts';
import { installPortkey } from './peers/portkey.ts';

/**
 * `npm run bench:peers`: Signalbox beside Portkey's open-source gateway, on Node and on Bun, before the same upstream in one
 * interleaved run; then the list of faults of `test/fault` against both. `--load` or `--faults`: that part alone.
 * `--quick` for a look. `--write` puts the tables into `bench/results/peers.md`, and the ratios into `docs/benchmarks.md`.
 */
const flag = (name: string): boolean => process.argv.includes(name);
const PAGE = 'bench/results/peers.md';
const SUMMARY = 'docs/benchmarks.md';

async function main(): Promise<void> {
  const portkey = await installPortkey();
  const on = `${occasion()}, Node ${portkey.node}, ${portkey.version}.`;
  const show = async (page: string, part: string, text: string) => {
    process.stdout.write(`${text}\n\n`);
    if (flag('--write')) await writePart(page, part, text);
  };
  if (!flag('--faults')) {
    const bench = await startBench();
    try {
      const { full, summary } = await compareLoad(bench, portkey, flag('--quick'));
      await show(PAGE, 'peers', `${on}\n\n${full}`);
      await show(SUMMARY, 'peers', `${on}\n\n${summary}`);
    } finally {
      await bench.stop();
    }
  }
  if (!flag('--load')) await show(PAGE, 'faults', `${on}\n\n${await compareFaults(portkey)}`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
