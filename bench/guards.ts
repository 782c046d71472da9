import { language } from '../plugins/guards/language.ts';
import { personalData } from '../plugins/guards/personal-data.ts';
import { secrets } from '../plugins/guards/secrets.ts';
import { size } from '../plugins/guards/size.ts';
import { words } from '../plugins/guards/words.ts';
import type { PreparedGuard } from '../src/contract/guard.ts';
import type { GuardRule } from '../src/core/policy/guards.ts';
import { readChatRequest } from '../src/dialects/openai-chat/reader.ts';
import { guardInput } from '../src/gateway/guards/guard-input.ts';
import { Placeholders } from '../src/gateway/guards/placeholders.ts';
import { textsOfRequest } from '../src/gateway/guards/request-texts.ts';
import { Verdicts } from '../src/gateway/guards/verdicts.ts';

/**
 * Prints how long each guard takes for a request with 2, 100 and 300 KB of text, in ms of one core: `bun bench/guards.ts`. The text is prose,
 * code and results of tools. The column "walk" is the time in which the texts are collected, which all guards of a request share.
 */

const PROSE =
  'The service reads the file, checks every line and writes a report that the team reviews on Friday (see page 12). ';
const CODE =
  'export function total(items: readonly Item[]): number {\n  return items.reduce((sum, { price }) => sum + price, 0);\n}\n';
const RESULT = '{"status":"ok","rows":[{"id":1042,"name":"blue chair","price":49.9,"at":"2026-11-03T10:15:00Z"}]}\n';
const MESSAGE_CHARS = 2_000;

const GUARDS: Readonly<Record<string, PreparedGuard>> = {
  secrets: secrets.prepare({ entropy: false }),
  'secrets, entropy': secrets.prepare({ entropy: true }),
  'personal-data': personalData.prepare({
    kinds: ['email', 'phone', 'card', 'iban', 'national'],
    countries: ['be', 'br', 'de', 'es', 'fr', 'gb', 'it', 'nl', 'pl', 'se', 'us'],
  }),
  'words, 10': words.prepare(wordsOf(10)),
  'words, 1000': words.prepare(wordsOf(1_000)),
  size: size.prepare({ characters: 10_000_000 }),
  language: language.prepare({ scripts: ['latin'], share: 0.3 }),
};

function wordsOf(count: number): Parameters<typeof words.prepare>[0] {
  const deny = Array.from({ length: count }, (_, at) => `project ${(at * 7919).toString(36)}`);
  return { deny, patterns: [], allow: [], case_sensitive: false, longest_match: 256 };
}

const ruleOf = (name: string): GuardRule => ({
  ...{ name, place: { file: '', line: 1, column: 1 }, plugin: name, settings: {}, isPure: true },
  window: name === 'size' ? 'all' : 'message',
  ...{ when: null, on: ['input'] as const, onMatch: 'flag' as const, onFailure: 'block' as const, deadlineMs: 60_000 },
  ...{ buffersWhole: false, unmask: [], refuse: [] },
});

function requestOf(kilobytes: number) {
  const text = (PROSE + CODE + RESULT).repeat(Math.ceil((kilobytes * 1024) / 330)).slice(0, kilobytes * 1024);
  const pieces = Array.from({ length: Math.ceil(text.length / MESSAGE_CHARS) }, (_, at) =>
    text.slice(at * MESSAGE_CHARS, (at + 1) * MESSAGE_CHARS),
  );
  const messages = pieces.map((content, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content,
  }));
  return readChatRequest({ model: 'm', messages });
}

/** Returns the median of several runs, ms. */
function median(run: () => void): number {
  const times: number[] = [];
  for (let round = 0; round < 31; round++) {
    const begun = performance.now();
    run();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[15]!;
}

const context = {
  verdicts: new Verdicts(),
  placeholders: new Placeholders(() => new Uint8Array(32)),
  timers: { after: () => ({ unref() {}, close() {} }), every: () => ({ unref() {}, close() {} }) },
  clock: () => performance.now(),
  kept: null,
  onFailure: () => {},
};

const SIZES = [2, 100, 300];
const requests = SIZES.map(requestOf);
const show = (name: string, times: readonly number[]) =>
  console.log(`| ${name.padEnd(16)} | ${times.map((time) => time.toFixed(2).padStart(7)).join(' | ')} |`);

console.log(`| guard            | ${SIZES.map((kb) => `${kb} KB`.padStart(7)).join(' | ')} |`);
const walks = requests.map((request) => median(() => void textsOfRequest(request)));
show('walk', walks);
for (const [name, prepared] of Object.entries(GUARDS)) {
  const guards = [{ rule: ruleOf(name), prepared }];
  show(
    name,
    requests.map((request, at) => Math.max(0, median(() => void guardInput(request, guards, context)) - walks[at]!)),
  );
}
