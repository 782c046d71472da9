import { cpus } from 'node:os';
import { shipped } from '../plugins/index.ts';
import type { ChatRequest } from '../src/core/api/chat-request.ts';
import { createIds } from '../src/core/id.ts';
import { SCOPES } from '../src/core/people/caller.ts';
import { readChatRequest } from '../src/dialects/openai-chat/reader.ts';
import { newSeed } from '../src/gateway/request/decide.ts';
import { createRegistry } from '../src/host/plugins/registry.ts';
import { loadPolicy } from '../src/policy/load.ts';
import { buildRuntime, type Runtime, strategyOf } from '../src/policy/runtime/runtime.ts';
import { isRefusal } from '../src/routing/decide.ts';
import { chatFacts } from '../src/routing/facts.ts';
import { hasRules, withRules } from '../src/routing/rules.ts';
import { profile } from '../test/support/chat-body.ts';
import { largePolicy } from './large-policy.ts';
import { quantile, table, timedInBlocks } from './stats.ts';

/**
 * `npm run bench:decide`: measures the time from a parsed and checked request to its decision, for prompts and catalogs of several sizes.
 * Each part is timed separately, and prompts and policies take turns. For comparison with the machine's speed, it also times `JSON.parse`
 * of the same body. `--quick` gives a rough result.
 */
const SAMPLES = process.argv.includes('--quick') ? 3_000 : 20_000;
const WARM_UP = 3_000;
/** The number of requests of each size, all different. */
const VARIANTS = 32;
const SIZES = [100, 2_000, 100_000] as const;
const CATALOGS = [
  [10, 20],
  [50, 20],
  [500, 20],
  [10, 200],
  [50, 200],
  [500, 200],
] as const;
const CALLER = { keyId: 'bench', scopes: new Set(SCOPES), labels: {}, models: null, limits: null, budgets: [] };

/** The question comes first, then the text that it is about, as users write. */
const QUESTIONS = [
  'Please summarise the report below for somebody who has not read any of it.',
  'Why does this function return undefined for empty lists? Keep the types as they are.',
  'Przetłumacz ten list na angielski i zachowaj uprzejmy ton całości.',
  'Which of the two offers is cheaper over three years, and by how much?',
];
const MATERIAL = [
  'The committee met on Tuesday to look at the figures of the last quarter. ',
  'const total = items.reduce((sum, { price, count }) => sum + price * count, 0);\n',
  'Der Liefertermin wurde zweimal verschoben, ohne dass jemand den Kunden gefragt hätte. ',
  '| 2026-03 | 1,204 | 18.5 % | open |\n',
];

function bodyOf(size: number, variant: number): string {
  let text = `${QUESTIONS[variant % QUESTIONS.length]}\n\n`;
  for (let i = variant; text.length < size; i++) text += MATERIAL[(i >> 2) % MATERIAL.length];
  return JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: text.slice(0, size) }] });
}

function runtimeOf(models: number, rules: number): Runtime {
  const registry = createRegistry(shipped);
  const files = [{ path: 'policy.yaml', text: largePolicy(models, rules, 0) }];
  const env = { get: () => undefined };
  const { snapshot, diagnostics } = loadPolicy(files, { env, ...registry, revisionOf: () => 'bench' });
  if (!snapshot) throw new Error(JSON.stringify(diagnostics.slice(0, 3)));
  return buildRuntime(snapshot, registry, env);
}

const nextId = createIds(Date.now, 0);

const inputsAt = (runtime: Runtime) => ({
  stream: false,
  user: '',
  metadata: {},
  caller: CALLER,
  time: runtime.localTime(Date.now()),
});

/** Does what the gateway does between the parsed body and the hold, including rules. */
function decideOn(runtime: Runtime, request: ChatRequest): void {
  const { snapshot, decider } = runtime;
  const read = readChatRequest(request);
  const own = chatFacts(read, CALLER, snapshot, { reader: runtime.reader });
  const facts = hasRules(snapshot) ? withRules(own, snapshot, inputsAt(runtime), () => {}) : own;
  const given = {
    id: nextId(),
    seed: newSeed(),
    readings: runtime.readings(),
    ...strategyOf(facts, runtime),
  };
  if (isRefusal(decider.decide(facts, given))) throw new Error('the benchmark’s request was refused');
}

/** Each part runs this many times in a row before the next part, because a server also uses its one policy many times in a row. */
const BLOCK = 50;

const timed = (works: readonly ((turn: number) => void)[]) =>
  timedInBlocks(works, { samples: SAMPLES, warmUp: WARM_UP, block: BLOCK });

const rows = [['prompt', 'models', 'rules', 'p50 µs', 'p99 µs', 'of it the profile, p50', '÷ JSON.parse, p50']];
for (const size of SIZES) {
  const texts = Array.from({ length: VARIANTS }, (_, variant) => bodyOf(size, variant));
  const requests: ChatRequest[] = texts.map((text) => JSON.parse(text));
  const runtimes = CATALOGS.map(([models, rules]) => runtimeOf(models, rules));
  const [parsing, profiling, ...deciding] = timed([
    (turn) => JSON.parse(texts[turn % VARIANTS]!),
    (turn) => profile(requests[turn % VARIANTS]!),
    ...runtimes.map((runtime) => (turn: number) => decideOn(runtime, requests[turn % VARIANTS]!)),
  ]);
  CATALOGS.forEach(([models, rules], at) => {
    const [p50, p99] = [quantile(deciding[at]!, 0.5), quantile(deciding[at]!, 0.99)];
    const own = quantile(profiling!, 0.5);
    const ratio = p50 / quantile(parsing!, 0.5);
    const name = size < 1_000 ? `${size} B` : `${size / 1_000} KB`;
    rows.push([name, String(models), String(rules), p50.toFixed(1), p99.toFixed(1), own.toFixed(1), ratio.toFixed(1)]);
  });
}
console.log(`${cpus()[0]?.model}, Bun ${Bun.version}, ${SAMPLES} samples each\n\n${table(rows)}`);
