import { readQuestion } from '../src/routing/profile/question.ts';
import { UserMessage } from '../src/routing/profile/user-message.ts';
import { profile, READER } from '../test/support/chat-body.ts';
import { framedPrompts, framesOf, HELD_OUT, HELD_OUT_KINDS, type LabelledPrompt, promptsOf } from './profile-fit.ts';
import { fixed, table } from './stats.ts';

/**
 * `npm run bench:reading`: measures the reading of requests that no figure was fitted to: how often the task is right, how often it is right
 * where its share is at least .7, how often it stays if the question is put into a frame that was not fitted to either, and how well
 * easy and hard requests are recognized. Brackets have 95 % intervals (Wilson 1927).
 */
const SURE = 0.7;

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
  ];
}

/** Returns how many requests of law, medicine and tax of some levels are read as hard. */
const hardOf = (sets: readonly SetRead[], isLevel: (level: number) => boolean): string => {
  const wanted = sets.flatMap(({ read }) => read.filter(({ prompt: { level } }) => isLevel(level!)));
  return percent(
    countOf(wanted, ({ seen }) => seen.difficulty === 'hard'),
    wanted.length,
  );
};

/** Returns how many requests of a level are recognized, and the levels of the recognized requests. Requests with tools are left out. */
function difficultyRow(name: 'easy' | 'hard', isLevel: (level: number) => boolean, sets: readonly SetRead[]): string[] {
  const levelled = sets.flatMap(({ read }) =>
    read.flatMap(({ prompt: { level, request }, seen: { difficulty } }) =>
      level === undefined || request.tools !== undefined ? [] : [{ level, isRead: difficulty === name }],
    ),
  );
  const recognized = levelled.filter(({ isRead }) => isRead);
  const wanted = levelled.filter(({ level }) => isLevel(level));
  const near = name === 'easy' ? (level: number) => level <= 1 : (level: number) => level >= 3;
  return [
    name,
    percent(
      countOf(wanted, ({ isRead }) => isRead),
      wanted.length,
    ),
    percent(
      countOf(recognized, ({ level }) => isLevel(level)),
      recognized.length,
    ),
    percent(
      countOf(recognized, ({ level }) => near(level)),
      recognized.length,
    ),
  ];
}

/** Returns the median times of reading a question of about 2,000 characters, and of finding its lines that ask, in µs. */
function timeOf(sets: readonly SetRead[]): { readonly split: number; readonly read: number } {
  const texts = sets.flatMap(({ read }) =>
    read.flatMap(({ prompt: { request } }) => {
      const content = request.messages.at(-1)?.content;
      return typeof content === 'string' ? [content] : [];
    }),
  );
  const long: string[] = [];
  for (let at = 0; at < texts.length; ) {
    let text = '';
    while (text.length < 2_000 && at < texts.length) text += `${texts[at++]}\n\n`;
    long.push(text.slice(0, 2_000));
  }
  const median = (run: (text: string) => unknown): number => {
    const times: number[] = [];
    for (let round = 0; round < 8; round++)
      for (const text of long) {
        const start = Bun.nanoseconds();
        run(text);
        if (round >= 4) times.push(Bun.nanoseconds() - start);
      }
    return times.sort((a, b) => a - b)[times.length >> 1]! / 1_000;
  };
  const view = (message: UserMessage) => ({
    question: message.question,
    reading: message.reading,
    shape: message.shape,
    words: message.words,
    tools: null,
    before: null,
    system: null,
    isSystemPrompt: false,
  });
  return {
    split: median((text) => readQuestion(text, READER.tables)),
    read: median((text) => {
      const message = new UserMessage(text, READER.tables);
      return message.guess(view(message));
    }),
  };
}

const authors = HELD_OUT.authors.map((name) => [name, readSet(`authors/${name}`)] as const);
const all = authors.map(([, read]) => read);
const kinds = HELD_OUT_KINDS.map((kind) => [kind, readSet(`authors/a16-${kind}`)] as const);
const frozen = readSet('frozen');
const standing = readSet('standing-heldout');
const head = ['prompts', 'number', 'task right, %', `share ≥ ${SURE}, %`, 'of these right, %', 'stays in a frame, %'];
console.log(
  `${table([
    head,
    rowOf('frozen', [frozen]),
    rowOf('standing-heldout', [standing]),
    ...authors.map(([name, read]) => rowOf(name, [read])),
    rowOf('held-out authors', all),
    ...kinds.map(([kind, read]) => rowOf(kind, [read])),
  ])}\n`,
);
console.log(
  `${table([
    ['difficulty', 'recognized, %', 'of the level, %', 'at most one level beside it, %'],
    difficultyRow('easy', (level) => level === 0, all),
    difficultyRow('hard', (level) => level === 4, all),
  ])}\n`,
);
const professions = kinds.flatMap(([kind, read]) => (kind === 'professions' ? [read] : []));
console.log(
  `Law, medicine and tax: of levels 3 and 4, ${hardOf(professions, (level) => level >= 3)} % are read as hard; of levels 1 and 2, ${hardOf(professions, (level) => level < 3)} %.\n`,
);
const { split, read } = timeOf(all);
console.log(
  `A question of 2,000 characters: ${fixed(read, 1)} µs, of which ${fixed(split, 1)} µs find what asks (medians).`,
);
process.exit(0);
