import { parseArgs } from 'node:util';
import { startBench } from './gateways.ts';
import { occasion, writePart } from './page.ts';
import { compareLoad } from './peers/compare.ts';
import { compareFaults } from './peers/faults.ts';
import { installPortkey, type Portkey, portkeyHeaders } from './peers/portkey.ts';
import { type RunningGateway, readGateways } from './peers/running.ts';
import { governedPolicy } from './policy.ts';
import type { Program } from './process.ts';

const HELP = `npm run bench:peers [-- FLAG…]

Compares Signalbox with other gateways that call the same upstream, in turns. Without --gateways the others are Portkey's
open-source gateway on Node and on Bun; a list of faults of the upstream follows.

  --gateways FILE       compare with the running gateways of this JSON file instead
  --upstream-port PORT  where the upstream listens, so that a gateway can be configured before the run
  --load, --faults      only this part
  --quick               fewer rounds, for a look
  --write               put the tables into bench/results/peers.md, and the ratios into docs/benchmarks.md

FILE is a list of objects:
  name      in the table
  url       of its chat completions, such as http://127.0.0.1:8080/v1/chat/completions
  key       sent as a bearer token
  model     for which it calls http://127.0.0.1:PORT/v1/chat/completions
  headers   an object of further headers; optional
  pids      its processes, and its database's; their children are found
  promises  "governed" if it checks a key and a budget before each call and records the usage, else "bare"
`;

const { values: flags } = parseArgs({
  options: {
    gateways: { type: 'string' },
    'upstream-port': { type: 'string', default: '0' },
    load: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const PINNED = 'bench-model-3';
const PAGE = 'bench/results/peers.md';
const SUMMARY = 'docs/benchmarks.md';

async function main(): Promise<void> {
  if (flags.help) process.stdout.write(HELP);
  else if (flags.gateways) await besideRunning(readGateways(flags.gateways));
  else await besidePortkey(await installPortkey());
}

async function besideRunning(others: readonly RunningGateway[]): Promise<void> {
  const bench = await startBench(Number(flags['upstream-port']));
  try {
    const { address, floor, flat, key } = bench;
    const signalbox = await bench.start(governedPolicy(address));
    const own = [
      started('floor', floor, key, 'bare'),
      started('Signalbox', signalbox, key, 'governed'),
      started('Signalbox, pinned model', signalbox, key, 'governed', PINNED),
      started('flat gateway', flat, key, 'governed', PINNED),
    ];
    const { full } = await compareLoad([...own, ...others], flags.quick);
    process.stdout.write(`${occasion()}.\n\n${full}\n`);
  } finally {
    await bench.stop();
  }
}

async function besidePortkey(portkey: Portkey): Promise<void> {
  const on = `${occasion()}, Node ${portkey.node}, ${portkey.version}.`;
  const show = async (page: string, part: string, text: string) => {
    process.stdout.write(`${text}\n\n`);
    if (flags.write) await writePart(page, part, text);
  };
  if (!flags.faults) {
    const bench = await startBench();
    const [node, bun] = await Promise.all([portkey.start('node'), portkey.start('bun')]);
    try {
      const { address, floor, signalbox, key } = bench;
      const headers = portkeyHeaders(address);
      const gateways = [
        started('floor', floor, key, 'bare'),
        started('Signalbox', signalbox, key, 'governed'),
        { ...started('Portkey on Node', node, key, 'bare'), headers },
        { ...started('Portkey on Bun', bun, key, 'bare'), headers },
      ];
      const { full, summary } = await compareLoad(gateways, flags.quick);
      await show(PAGE, 'peers', `${on}\n\n${full}`);
      await show(SUMMARY, 'peers', `${on}\n\n${summary}`);
    } finally {
      await Promise.all([node, bun, bench].map((one) => one.stop()));
    }
  }
  if (!flags.load) await show(PAGE, 'faults', `${on}\n\n${await compareFaults(portkey)}`);
}

function started(
  name: string,
  { pid, port }: Program,
  key: string,
  promises: RunningGateway['promises'],
  model = 'auto',
): RunningGateway {
  return { name, url: `http://127.0.0.1:${port}/v1/chat/completions`, key, model, pids: [pid], promises };
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
