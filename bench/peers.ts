import { parseArgs } from 'node:util';
import { occasion, writePart } from './page.ts';
import { compareLoad } from './peers/compare.ts';
import { type Peers, startContenders } from './peers/contenders.ts';
import { compareFaults } from './peers/faults.ts';
import { compareGrowth } from './peers/growth.ts';
import { peersHome } from './peers/installed.ts';
import { installLiteLlm } from './peers/litellm.ts';
import { installPortkey } from './peers/portkey.ts';
import { readGateways } from './peers/running.ts';

const HELP = `npm run bench:peers [-- FLAG…]

Compares Signalbox on SQLite and PostgreSQL, a bare proxy and a flat gateway with other gateways that call the same upstream, in turns:
Portkey from npm, LiteLLM from PyPI if python3 is in PATH, and running gateways of a file. Without a part, all parts run.

  --load                CPU, added latency, memory and wrong answers
  --growth              what a request costs after 0, 10,000 and 100,000 recorded requests, at the gateways that record
  --faults              what Portkey and Signalbox make of faults of the upstream

  --gateways FILE       compare with the running gateways of this JSON file, too
  --upstream-port PORT  where the upstream listens, so that a gateway can be configured before the run
  --installed FOLDER    where Portkey and LiteLLM are installed, and found by later runs; default: a folder for temporary files
  --running-only        install nothing, and compare with the gateways of the file alone
  --quick               fewer rounds and records, for a look
  --write               put the tables into docs/comparison.md and bench/results/peers.md

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
    load: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
    gateways: { type: 'string' },
    'upstream-port': { type: 'string', default: '0' },
    installed: { type: 'string' },
    'running-only': { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const FULL = 'bench/results/peers.md';
const SUMMARY = 'docs/comparison.md';
const PARTS = ['load', 'growth', 'faults'] as const;
const isWanted = (part: (typeof PARTS)[number]): boolean => flags[part] || !PARTS.some((one) => flags[one]);

async function main(): Promise<void> {
  if (flags.help) {
    process.stdout.write(HELP);
    return;
  }
  const running = flags.gateways === undefined ? [] : readGateways(flags.gateways);
  const { portkey, liteLlm, missing } = await install();
  const peers = { portkey, liteLlm, running };
  const versions = [occasion(), portkey && `Node ${portkey.node}`, portkey?.version, liteLlm?.version].filter(Boolean);
  const on = [`${versions.join(', ')}.`, ...missing].join('\n\n');
  if (isWanted('load')) await load(peers, on);
  if (isWanted('growth')) await growth(peers);
  if (isWanted('faults') && portkey) await show(FULL, 'faults', `${on}\n\n${await compareFaults(portkey)}`);
}

/** Installs the gateways that can be installed here and take part. `missing` gets a sentence for each gateway that cannot be installed. */
async function install() {
  const isNeeded = isWanted('load') || isWanted('faults');
  if (flags['running-only'] || !isNeeded) return { portkey: null, liteLlm: null, missing: [] };
  const home = peersHome(flags.installed);
  const missing: string[] = [];
  const orNull = <T>(name: string, installing: Promise<T>): Promise<T | null> =>
    installing.catch((error: unknown) => {
      missing.push(`${name} could not be installed: ${error instanceof Error ? error.message : String(error)}.`);
      return null;
    });
  const portkey = await orNull('Portkey', installPortkey(home));
  return { portkey, liteLlm: await orNull('LiteLLM', installLiteLlm(home)), missing };
}

async function load(peers: Peers, on: string): Promise<void> {
  await using contenders = await startContenders(peers, Number(flags['upstream-port']));
  const { full, summary } = await compareLoad(contenders.gateways, flags.quick);
  await show(FULL, 'peers', `${on}\n\n${full}`);
  await show(SUMMARY, 'peers', `${on}\n\n${summary}`);
}

/** Measures with new databases, so that records of another part of the benchmark do not count. */
async function growth(peers: Peers): Promise<void> {
  await using contenders = await startContenders(
    { portkey: null, liteLlm: null, running: peers.running },
    Number(flags['upstream-port']),
  );
  const [floor, ...others] = contenders.gateways;
  /** At each address, only one gateway is measured, because its records count for all of its models. */
  const recording = others.filter(
    ({ promises, url }, at) => promises === 'governed' && others.findIndex((one) => one.url === url) === at,
  );
  await show(SUMMARY, 'growth', `${occasion()}.\n\n${await compareGrowth([floor!, ...recording], flags.quick)}`);
}

async function show(page: string, part: string, text: string): Promise<void> {
  process.stdout.write(`${text}\n\n`);
  if (flags.write) await writePart(page, part, text);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
