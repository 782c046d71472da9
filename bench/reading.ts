import { readIntent } from '../src/routing/profile/intent.ts';
import { PromptReader } from '../src/routing/profile/prompt-reader.ts';
import { readQuestion } from '../src/routing/profile/question.ts';
import { MessageReading } from '../src/routing/profile/reading.ts';
import { COLUMN } from '../src/routing/profile/table.ts';
import { FRESH, panelOf } from '../test/panel/panel.ts';
import { type ChatBody, profile, READER } from '../test/support/chat-body.ts';
import { chatRequest } from '../test/support/model-request.ts';
import {
  type Frame,
  framed,
  framedPrompts,
  framesOf,
  HELD_OUT,
  HELD_OUT_KINDS,
  type LabelledPrompt,
  promptsOf,
} from './profile-fit.ts';
import { fixed, median, table } from './stats.ts';

/**
 * `npm run bench:reading`: measures the reading of requests that no figure was fitted to: how often the task is right, how often it is right
 * where its share is at least .7, how often it stays in a frame that was not fitted to either, how well demanding requests are told from
 * others, and how often a text around a question changes whether it is read as hard. Brackets have 95 % intervals (Wilson 1927).
 */
const SURE = 0.7;
/** From this level on, a request is demanding. */
const DEMANDING = 3;
/** The default of `strong_from`. */
const STRONG_FROM = 0.88;
const WRAPPERS = 25;

/** Returns a share in percent with its interval, such as "71.2 [69.0, 73.3]". */
function percent(hits: number, all: number): string {
  if (all === 0) return '-';
  const z = 1.96;
  const share = hits / all;
  const middle = share + (z * z) / (2 * all);
  const reach = z * Math.sqrt((share * (1 - share) + (z * z) / (4 * all)) / all);
  const bound = (sign: number) => fixed((100 * (middle + sign * reach)) / (1 + (z * z) / all), 1);
  return `${fixed(100 * share, 1)} [${bound(-1)}, ${bound(1)}]`;
}

const isOfWords = ({ task }: LabelledPrompt): boolean => task !== undefined && task !== 'vision';
const countOf = <Item>(items: readonly Item[], holds: (item: Item) => boolean): number => items.filter(holds).length;

/** Reads a set of prompts. */
function readSet(name: string) {
  const prompts = promptsOf(name).filter(isOfWords);
  const read = prompts.map((prompt) => ({ prompt, seen: profile(prompt.request) }));
  const taskOf = new Map(read.map(({ prompt: { id }, seen: { task } }) => [id, task]));
  const framed = framedPrompts(
    // An order of a system prompt stays in any case.
    prompts.filter(({ standing }) => standing === undefined),
    framesOf(HELD_OUT.frames),
    1,
  ).map((prompt) => ({ prompt, task: profile(prompt.request).task }));
  return { read, framed, taskOf };
}

type SetRead = ReturnType<typeof readSet>;

function rowOf(name: string, sets: readonly SetRead[]): string[] {
  const read = sets.flatMap((one) => one.read);
  const framed = sets.flatMap(({ framed, taskOf }) => framed.map(({ prompt, task }) => task === taskOf.get(prompt.id)));
  const sure = read.filter(({ seen: { mix } }) => (mix[0]?.share ?? 1) >= SURE);
  const isRight = ({ prompt, seen }: SetRead['read'][number]) => seen.task === prompt.task;
  return [
    name,
    String(read.length),
    percent(countOf(read, isRight), read.length),
    percent(sure.length, read.length),
    percent(countOf(sure, isRight), sure.length),
    percent(countOf(framed, Boolean), framed.length),
    percent(
      countOf(read, ({ prompt, seen }) => seen.naturalLanguage === prompt.language),
      read.length,
    ),
  ];
}

/** A request whose difficulty is known. */
interface Levelled {
  readonly request: ChatBody;
  readonly isDemanding: boolean;
}

/** The log odds that the last question is hard. */
const hardOdds = (request: ChatBody): number =>
  readQuestion(chatRequest(request).conversation, READER).odds[COLUMN.hard]!;
const isHard = (request: ChatBody): boolean => profile(request).hard >= STRONG_FROM;

/** Returns how often a demanding request has greater odds than another one; equal odds count half. */
function auc(requests: readonly Levelled[]): number {
  const scored = requests.map(({ request, isDemanding }) => ({ odds: hardOdds(request), isDemanding }));
  const demanding = scored.filter((one) => one.isDemanding);
  const others = scored.filter((one) => !one.isDemanding);
  let wins = 0;
  for (const { odds } of demanding)
    for (const other of others) wins += odds > other.odds ? 1 : odds === other.odds ? 0.5 : 0;
  return wins / (demanding.length * others.length);
}

function difficultyRow(name: string, requests: readonly Levelled[]): string[] {
  const demanding = requests.filter(({ isDemanding }) => isDemanding);
  const hard = requests.filter(({ request }) => isHard(request));
  return [
    name,
    String(requests.length),
    String(demanding.length),
    fixed(auc(requests), 3),
    percent(
      countOf(hard, ({ isDemanding }) => isDemanding),
      demanding.length,
    ),
    percent(
      countOf(hard, ({ isDemanding }) => isDemanding),
      hard.length,
    ),
  ];
}

const withoutTools = (sets: readonly SetRead[]): Levelled[] =>
  sets.flatMap(({ read }) =>
    read.flatMap(({ prompt: { level, request } }) =>
      level === undefined || request.tools !== undefined ? [] : [{ request, isDemanding: level >= DEMANDING }],
    ),
  );

/** Returns how often each wrapper changes whether a question is read as hard. */
function wrapperRow(name: string, requests: readonly LabelledPrompt[], wrap: readonly Wrapper[]): string[] {
  let changed = 0;
  let all = 0;
  for (const prompt of requests) {
    const before = isHard(prompt.request);
    for (const wrapper of wrap) {
      const wrapped = wrapper(prompt);
      if (wrapped === null) continue;
      all++;
      if (isHard(wrapped) !== before) changed++;
    }
  }
  return [name, String(requests.length), String(all), percent(changed, all)];
}

type Wrapper = (prompt: LabelledPrompt) => ChatBody | null;
const inFrame =
  (frame: Frame): Wrapper =>
  (prompt) =>
    framed(prompt, frame)?.request ?? null;
const underPrompt =
  (content: string): Wrapper =>
  ({ request }) => ({ ...request, messages: [{ role: 'system', content }, ...request.messages] });

/** Returns as many members as wanted, evenly over a list. */
const evenly = <Member>(list: readonly Member[], count: number): Member[] =>
  Array.from({ length: count }, (_, at) => list[Math.floor((at * list.length) / count)]!);

/** Returns the median times of reading a request, and a message of 2,000 characters, in µs, without any memory. */
function timesOf(sets: readonly SetRead[]): { readonly request: number; readonly long: number } {
  const texts = sets.flatMap(({ read }) =>
    read.flatMap(({ prompt: { request } }) => {
      const content = request.messages.at(-1)?.content;
      return typeof content === 'string' ? [content] : [];
    }),
  );
  const long = Array.from({ length: 400 }, (_, at) =>
    texts
      .slice(at, at + 40)
      .join('\n\n')
      .slice(0, 2_000),
  );
  const medianOf = <Item>(items: readonly Item[], read: (item: Item, reader: PromptReader) => unknown): number => {
    const times: number[] = [];
    for (let round = 0; round < 8; round++) {
      // A reader remembers a text only when it occurs again.
      const reader = new PromptReader();
      for (const item of items) {
        const start = Bun.nanoseconds();
        read(item, reader);
        if (round >= 4) times.push(Bun.nanoseconds() - start);
      }
    }
    return median(times) / 1_000;
  };
  const requests = sets.flatMap(({ read }) => read.map(({ prompt: { request } }) => chatRequest(request)));
  return {
    request: medianOf(requests, readIntent),
    long: medianOf(long, (text, { texts }) => new MessageReading(text, texts)),
  };
}

const authors = HELD_OUT.authors.map((name) => [name, readSet(`authors/${name}`)] as const);
const all = authors.map(([, read]) => read);
const kinds = HELD_OUT_KINDS.map((kind) => [kind, readSet(`authors/a16-${kind}`)] as const);
const frozen = readSet('frozen');
const standing = readSet('standing-heldout');
console.log(
  `${table([
    [
      'prompts',
      'number',
      'task right, %',
      `share ≥ ${SURE}, %`,
      'of these right, %',
      'stays in a frame, %',
      'language right, %',
    ],
    rowOf('frozen', [frozen]),
    rowOf('standing-heldout', [standing]),
    ...authors.map(([name, read]) => rowOf(name, [read])),
    rowOf('held-out authors', all),
    ...kinds.map(([kind, read]) => rowOf(kind, [read])),
  ])}\n`,
);
const fresh = panelOf(FRESH).map(({ body, worth }): Levelled & Pick<typeof body, 'tools'> => ({
  request: body,
  isDemanding: worth === 'demanding' || worth === 'hard',
  tools: body.tools,
}));
console.log(
  `${table([
    [
      'difficulty',
      'number',
      'demanding',
      'AUC',
      'of the demanding read as hard, %',
      'of those read as hard demanding, %',
    ],
    difficultyRow('held-out authors', withoutTools(all)),
    difficultyRow('fresh panel', fresh),
    difficultyRow(
      'fresh panel without tools',
      fresh.filter(({ tools }) => tools === undefined),
    ),
  ])}\n`,
);
const simple = all.flatMap(({ read }) =>
  read.flatMap(({ prompt }) => (prompt.request.messages.length === 1 && !prompt.request.tools ? prompt : [])),
);
const idle = all.flatMap(({ read }) =>
  read.flatMap(({ prompt: { standing, request } }) => {
    const content = request.messages[0]?.content;
    return standing === 'general' && typeof content === 'string' ? content : [];
  }),
);
const frames = evenly(framesOf(HELD_OUT.frames), WRAPPERS).map(inFrame);
const prompts = ['You are a helpful assistant.', ...evenly(idle, WRAPPERS - 1)].map(underPrompt);
console.log(
  `${table([
    ['wrappers', 'requests', 'wrapped', 'list changes, %'],
    wrapperRow(`${WRAPPERS} system prompts`, simple, prompts),
    wrapperRow(`${WRAPPERS} frames`, simple, frames),
    wrapperRow('all', simple, [...prompts, ...frames]),
  ])}\n`,
);
const { request, long } = timesOf(all);
console.log(`A request: ${fixed(request, 1)} µs. A message of 2,000 characters: ${fixed(long, 1)} µs (medians).`);
process.exit(0);
