import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { listOf } from '../../../src/core/json/object.ts';
import { share } from '../../../src/core/json/shared-values.ts';
import type { Turn } from '../../../src/core/request/conversation.ts';
import type { StuckSigns } from '../../../src/core/request/facts.ts';
import type { ModelRequest } from '../../../src/core/request/model-request.ts';
import { stuckSigns } from '../../../src/routing/profile/progress.ts';
import { PromptReader } from '../../../src/routing/profile/prompt-reader.ts';
import { tries } from '../../deep/effort.ts';
import { READER } from '../../support/chat-body.ts';
import { chatRequest } from '../../support/model-request.ts';
import { profile } from '../../support/profile.ts';
import { CLIENTS, type ClientName, isCall, SESSIONS, type Session, type Step, turnsOf } from '../sessions/sessions.ts';
import { type LabelledPrompt, promptsOf } from './prompts.ts';

const labelledIn = (name: string) => promptsOf(name) as (LabelledPrompt & { readonly level: number })[];
const requestOf = (client: ClientName, steps: readonly Step[]) => CLIENTS[client].read(CLIENTS[client].body(steps));
/** Whether an agent is stuck after some steps. */
type Judge = (steps: readonly Step[], client: ClientName) => boolean;
const isStuck: Judge = (steps, client) => stuckSigns(requestOf(client, steps), READER) !== null;
const signsAfter = (...steps: readonly Step[]) => stuckSigns(requestOf('opencode', steps), READER);

const user = (text: string): Step => ({ user: text });
const TASK = user(
  'Please make the whole test suite of this project pass again, and explain what the cause of the failures was in the end.',
);
const run = (command: string, result: string): Step => ({ tool: 'bash', args: { command }, result });
const edit = (oldString: string, newString: string, filePath = 'src/a.ts'): Step => ({
  tool: 'edit',
  args: { filePath, oldString, newString },
  result: 'Edit applied successfully.',
});
const read = (filePath: string): Step => ({
  tool: 'read',
  args: { filePath },
  result: `<file>\n00001| ${filePath}\n</file>`,
});
const failing = (failed: number, why = 'expected 3 to be 4'): Step =>
  run(
    'npm test',
    `AssertionError: ${why}\nTests: ${failed} failed, ${90 - failed} passed\nTime: ${failed}.${why.length} s`,
  );
const passing = run('npm test', 'Tests: 0 failed, 90 passed');

/** The verdict of every session after every step that a client sends. */
const verdictsOf = (judge: Judge, sessions: readonly Session[] = SESSIONS) =>
  sessions.map(({ client, name, steps }) => [
    client,
    name,
    ...[...turnsOf({ steps })].map((turn) => (judge(turn.steps, client) ? 'stuck' : 'progress')),
  ]);
const EXPECTED = SESSIONS.map(({ client, name, steps }) => [
  client,
  name,
  ...[...turnsOf({ steps })].map(({ verdict }) => verdict),
]);

describe('a session of an agent', () => {
  test.each(SESSIONS.map((session) => [session.client, session.name, session] as const))(
    'of %s is judged as its label says after each step: %s',
    (_, __, session) => {
      expect(verdictsOf(isStuck, [session])).toEqual(EXPECTED.filter((_, at) => SESSIONS[at] === session));
    },
  );

  const MUTANTS: Readonly<Record<string, Judge>> = {
    'the number of calls decided': (steps) => steps.filter(isCall).length >= 8,
    'the number of calls and words of failure decided': (steps) => {
      const last = steps.at(-1)!;
      return steps.filter(isCall).length >= 8 && isCall(last) && /error|fail/i.test(last.result);
    },
    'three failures were enough': (steps) =>
      steps.filter((step) => isCall(step) && /error|fail/i.test(step.result)).length >= 3,
    'only equal calls counted': (steps) => {
      const calls = steps.filter(isCall).map(({ tool, args }) => JSON.stringify([tool, args]));
      return new Set(calls).size <= calls.length - 3;
    },
    'the verdict did not last': (steps, client) => {
      const last = steps.at(-1)!;
      return isStuck(steps, client) && isCall(last) && /error|fail/i.test(last.result);
    },
  };
  test.each(Object.entries(MUTANTS))('would be judged wrongly if %s', (_, mutant) => {
    expect(verdictsOf(mutant)).not.toEqual(EXPECTED);
  });
});

describe('signs that an agent is stuck', () => {
  test('the same failure after two fixes', () => {
    const once = [TASK, failing(2), read('src/a.ts'), edit('a', 'b'), failing(2)];
    expect(signsAfter(...once)).toBeNull();
    expect(signsAfter(...once, edit('b', 'c'), failing(2))).toMatchObject({ sameFailures: 2, failingRuns: 3 });
  });

  test('a failure counts as the same if only numbers, times, positions and temporary names differ', () => {
    const at = (line: number, folder: string, ms: number) =>
      run(
        'go test ./...',
        `/tmp/${folder}/a_test.go:${line}:9: want 3, got ${line}\nFAIL\tpkg/a\t${ms}.2s (id 7f${ms}ab)`,
      );
    const fixes = [TASK, at(12, 'go-build1', 3), edit('a', 'b'), at(14, 'go-xkcd', 44), edit('b', 'c')];
    expect(signsAfter(...fixes, at(99, 'tmp.Qw', 5))).not.toBeNull();
    expect(signsAfter(...fixes, run('go test ./...', 'a_test.go:99:9: index out of range\nFAIL'))).toBeNull();
  });

  test('a call with fewer failures than before shares no failure with itself, and ends a row of failures', () => {
    expect(signsAfter(TASK, ...[9, 7, 4, 3, 2].map((failed) => failing(failed)))).toBeNull();
    expect(signsAfter(TASK, ...[9, 9, 9, 9, 9].map((failed) => failing(failed)))).not.toBeNull();
  });

  test('fewer failures or more successes are progress, also if the text of the failure is the same', () => {
    const steps = [9, 8, 7, 6, 5, 4, 3, 2].flatMap((failed, at) => [failing(failed), edit(`${at}`, `${at + 1}`)]);
    expect(signsAfter(TASK, ...steps)).toBeNull();
    const more = (passed: number) => run('npm test', `1 failed, ${passed} passed\nError: no network`);
    expect(
      signsAfter(TASK, ...[50, 51, 54, 60].flatMap((passed) => [more(passed), edit(`${passed}`, 'x')])),
    ).toBeNull();
  });

  test('many failing runs of one command that fail in other ways', () => {
    const runs = Array.from({ length: 12 }, (_, at) => [
      failing(3, 'abcdefghijklm'.slice(at)),
      edit(`${at}`, `${at + 1}`),
    ]);
    expect(signsAfter(TASK, ...runs.slice(0, 5).flat())).toBeNull();
    expect(signsAfter(TASK, ...runs.flat())).toMatchObject({ sameFailures: 0, undoneEdits: 0 });
  });

  test('undone edits while something fails; output that is added and removed again is no such edit', () => {
    const back = [TASK, failing(2, 'one'), edit('1', '2'), failing(2, 'two'), edit('2', '1')];
    expect(signsAfter(...back)).toBeNull();
    expect(signsAfter(...back, edit('1', '2'))).toMatchObject({ undoneEdits: 2 });
    const debug = [1, 2, 3, 4].flatMap((at) => [
      edit('run();', `log(${at});\nrun();`),
      edit(`log(${at});\nrun();`, 'run();'),
    ]);
    expect(signsAfter(TASK, failing(2), ...debug)).toBeNull();
  });

  test('a file that is written with an earlier content', () => {
    const write = (content: string): Step => ({ tool: 'write', args: { filePath: 'a.ts', content }, result: 'ok' });
    const twice = [TASK, failing(2, 'one'), write('1'), write('2'), write('1')];
    expect(signsAfter(...twice)).toBeNull();
    expect(signsAfter(...twice, write('2'))).toMatchObject({ undoneEdits: 2 });
  });

  test('calls that repeat earlier calls with the same results, unless they wait', () => {
    const again = (call: Step, times: number) => Array.from({ length: times }, () => call);
    expect(signsAfter(TASK, ...again(read('src/a.ts'), 3))).toBeNull();
    expect(signsAfter(TASK, ...again(read('src/a.ts'), 4))).toMatchObject({ repeatedCalls: 3 });
    expect(signsAfter(TASK, ...again(run('sleep 30; ./status', 'running'), 20))).toBeNull();
    const files = ['a', 'b', 'c', 'd', 'e'].map((name) => read(`src/${name}.ts`));
    expect(signsAfter(TASK, ...files, ...files)).not.toBeNull();
    expect(signsAfter(TASK, ...files, edit('a', 'b'), ...files)).toBeNull();
  });

  test('many calls in a row that fail, each in another way', () => {
    const guesses = ['sales', 'orders', 'revenue', 'income', 'turnover'].map(
      (name): Step => ({
        tool: 'run_sql',
        args: { query: `select * from ${name}` },
        result: `ERROR: relation "${name}" is unknown`,
      }),
    );
    expect(signsAfter(TASK, ...guesses)).toMatchObject({ failingRuns: 5 });
    expect(signsAfter(TASK, ...guesses.flatMap((guess, at) => [guess, read(`schema/${at}.sql`)]))).toBeNull();
  });

  test('a command that shows what it showed before an edit, without a mark of success', () => {
    const after = (result: string) =>
      [1, 2, 3, 4].flatMap((at) => [run('./bench', result), edit(`${at}`, `${at + 1}`)]);
    expect(signsAfter(TASK, ...after('rate limited'))).toMatchObject({ repeatedCalls: 3 });
    expect(signsAfter(TASK, ...after('built in 4 s'))).toBeNull();
    const faster = [54, 48, 41, 39].flatMap((ns) => [run('./bench', `${ns} ns each`), edit(`${ns}`, '')]);
    expect(signsAfter(TASK, ...faster)).toBeNull();
  });

  test('commands that undo edits while something fails', () => {
    const undo = run('git checkout src/a.ts', '');
    const tries = [TASK, failing(2, 'one'), edit('1', '2'), failing(2, 'two'), undo];
    expect(signsAfter(...tries)).toBeNull();
    expect(signsAfter(...tries, edit('1', '3'), failing(2, 'three'), undo)).toMatchObject({ undoneEdits: 2 });
    expect(
      signsAfter(TASK, ...['main', '-b fix', 'topic'].map((name) => run(`git checkout ${name}`, name))),
    ).toBeNull();
  });

  test('a command that a client reports as successful is no failure, whatever it prints', () => {
    const log = { tool: 'shell', args: { command: ['bash', '-lc', './report'] }, result: '' } as const;
    const shown = (code: number): Step => ({ ...log, result: `Exit code: ${code}\nOutput:\nError: 3 failed` });
    const edits = (code: number) => [shown(code), edit('a', 'b'), shown(code), edit('b', 'c'), shown(code)];
    expect(signsAfter(TASK, ...edits(0))).toBeNull();
    expect(signsAfter(TASK, ...edits(1))).not.toBeNull();
  });
});

describe('a session that is stuck', () => {
  const stuck = [TASK, failing(2), edit('a', 'b'), failing(2), edit('b', 'c'), failing(2)];
  const reads = (count: number) => Array.from({ length: count }, (_, at) => read(`src/${at}.ts`));

  test('stays stuck while nothing passes, and for some calls after the success', () => {
    expect(signsAfter(...stuck, ...reads(10))).not.toBeNull();
    expect(signsAfter(...stuck, edit('c', 'd'), passing)).not.toBeNull();
    expect(signsAfter(...stuck, edit('c', 'd'), passing, ...reads(3))).toBeNull();
  });

  test('keeps its verdict when the user follows up, and when the user writes at length about what fails', () => {
    const long = user(
      'You keep changing the wrong place. Look at how the total is computed before the discount, and write down what you expect first.',
    );
    for (const message of [user('try again'), long]) expect(signsAfter(...stuck, message)).not.toBeNull();
  });

  test('is forgotten with a new task if nothing fails', () => {
    const loop = Array.from({ length: 4 }, () => read('src/a.ts'));
    expect(signsAfter(TASK, ...loop, user('go on'))).not.toBeNull();
    expect(signsAfter(TASK, ...loop, TASK)).toBeNull();
  });

  test('makes the request hard, also if the task is another one or the conversation has images', () => {
    const messages = CLIENTS.opencode.body(stuck);
    expect(profile(CLIENTS.opencode.read(messages), READER)).toMatchObject({
      difficulty: 'hard',
      stuck: { sameFailures: 2 },
    });
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const [system, task, ...rest] = messages.messages as object[];
    const seen = { role: 'user', content: [{ type: 'text', text: 'This is the screen.' }, image] };
    const withImage = { ...messages, messages: [system, seen, task, ...rest] };
    expect(profile(CLIENTS.opencode.read(withImage), READER).difficulty).toBe('hard');
  });
});

test('conversations without calls of tools have no progress', () => {
  expect(signsAfter(TASK)).toBeNull();
  expect(signsAfter(TASK, { say: 'Done.' }, user('thanks'))).toBeNull();
});

test('most sessions that authors labelled as hardest are found, and no other session is', () => {
  const names = ['a01', 'a02', 'a03', 'a04', 'a05', 'a06', 'a07', 'a10'];
  const sessions = names
    .flatMap((name) => labelledIn(`authors/${name}`))
    .filter(({ request }) => request.messages.filter(({ role }) => role === 'tool').length > 2);
  const [hardest, others] = [sessions.filter(({ level }) => level === 4), sessions.filter(({ level }) => level !== 4)];
  const found = (some: typeof sessions) =>
    some.filter(({ request }) => stuckSigns(chatRequest(request), READER) !== null);
  expect(found(others).map(({ id }) => id)).toEqual([]);
  expect(found(hardest).length / hardest.length).toBeGreaterThan(0.6);
});

describe('laws of progress', () => {
  const anyCall = fc.oneof(
    fc
      .record({ failed: fc.constantFrom(1, 2, 3), why: fc.constantFrom('one', 'two') })
      .map(({ failed, why }) => failing(failed, why)),
    fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('a', 'b', 'c')).map(([a, b]) => edit(a, b)),
    fc.constantFrom('x', 'y', 'z').map((name) => read(`src/${name}.ts`)),
    fc.constant(passing),
    fc.constantFrom(user('go on'), TASK),
  );
  const anySteps = fc.array(anyCall, { maxLength: 40 }).map((steps) => [TASK, ...steps]);
  const anyClient = fc.constantFrom('claude-code', 'codex', 'opencode');

  test('the verdict depends on the transcript alone, and is the same in every dialect', () => {
    fc.assert(
      fc.property(anySteps, anyClient, fc.nat(), (steps, client, seed) => {
        const whole = stuckSigns(requestOf(client, steps), READER);
        // Other sessions, and later requests of this session, fill the memory of texts.
        for (let at = 1; at <= steps.length; at++)
          stuckSigns(requestOf('opencode', steps.slice(seed % at, at)), READER);
        expect(stuckSigns(requestOf(client, steps), READER)).toEqual(whole);
        expect(stuckSigns(requestOf('opencode', steps), READER)).toEqual(whole);
      }),
      tries('the progress of a session depends on its transcript alone', 150, 5_000),
    );
  });

  test('a long session with new results and fewer failures is never stuck, however long it is', () => {
    const work = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(work, anyClient, (tasks, client) => {
        const steps = tasks.flatMap((most, task) => [
          ...Array.from({ length: most }, (_, at) => [
            read(`src/${task}/${at}.ts`),
            edit(`${task}.${at}`, `${task}.${at + 1}`, `src/${task}.ts`),
            failing(most - at, `task ${'i'.repeat(task)}`),
          ]).flat(),
          passing,
        ]);
        for (let at = steps.length; at > 0; at -= 7) expect(isStuck([TASK, ...steps.slice(0, at)], client)).toBe(false);
      }),
      tries('a session that makes progress is never stuck', 40, 1_000),
    );
  });

  test('words of people in results do not change the verdict', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SESSIONS),
        fc.constantFrom(...ALPHABETS),
        fc.nat(25),
        ({ client, steps }, alphabet, by) => {
          for (const turn of turnsOf({ steps: steps.map((step) => inOtherWords(step, alphabet, by)) })) {
            expect([turn.steps.length, isStuck(turn.steps, client)]).toEqual([
              turn.steps.length,
              turn.verdict === 'stuck',
            ]);
          }
        },
      ),
      tries('words of people do not change the progress of a session', 40, 1_000),
    );
  });
});

describe('a running session whose messages are shared', () => {
  /** Judges a request; other requests of the same session came before it. */
  type Reading = (request: ModelRequest) => StuckSigns | null;
  const anyStep = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(failing(1), failing(2), failing(2, 'no such file'), edit('a', 'b')) },
    { weight: 2, arbitrary: fc.constantFrom(edit('b', 'a'), edit('c', 'd', 'src/b.ts'), read('src/x.ts'), passing) },
    {
      weight: 2,
      arbitrary: fc.nat(9).map((letters) => run(`npm run ${'i'.repeat(letters)}`, `Error: ${'i'.repeat(letters)}`)),
    },
    fc.constantFrom(user('go on'), TASK, { say: 'Next.' }, run('npm run lint', 'done'), run('git checkout .', '')),
  );
  /** How the steps change from one request to the next. */
  type Change = (steps: readonly Step[]) => readonly Step[];
  const anyChange: fc.Arbitrary<Change> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.array(anyStep, { minLength: 1, maxLength: 3 }).map(
        (added): Change =>
          (steps) => [...steps, ...added],
      ),
    },
    fc.integer({ min: 1, max: 18 }).map(
      (count): Change =>
        (steps) => [...steps, ...Array.from({ length: count }, (_, at) => read(`src/${steps.length + at}.ts`))],
    ),
    fc.tuple(fc.integer({ min: 1, max: 12 }), anyStep).map(
      ([fromEnd, step]): Change =>
        (steps) =>
          steps.with(Math.max(0, steps.length - fromEnd), step),
    ),
    fc.nat(90).map(
      (index): Change =>
        (steps) =>
          steps.with(index % steps.length, failing(3)),
    ),
    fc.integer({ min: 1, max: 15 }).map(
      (left): Change =>
        (steps) =>
          steps.slice(0, Math.max(1, steps.length - left)),
    ),
  );
  const anySession = fc.record({
    client: fc.constantFrom(...(['claude-code', 'codex', 'opencode'] as const)),
    first: fc.array(anyStep, { minLength: 4, maxLength: 75 }).map((steps) => [TASK, ...steps]),
    changes: fc.array(anyChange, { minLength: 2, maxLength: 12 }),
  });

  /** Reads the bodies of a session so that equal messages at the same index are the same shared objects, as in a kept conversation. */
  function sharingReader(client: ClientName) {
    const messages = new Map<string, unknown>();
    const list = client === 'codex' ? 'input' : 'messages';
    return (steps: readonly Step[]): ModelRequest => {
      const body = CLIENTS[client].body(steps);
      const shared = listOf(body[list]).map((message, index) => {
        const name = `${index} ${JSON.stringify(message)}`;
        const known = messages.get(name) ?? message;
        share(known);
        messages.set(name, known);
        return known;
      });
      return CLIENTS[client].read({ ...body, [list]: shared });
    };
  }

  /** @returns how many requests were stuck */
  function checkReading(open: () => Reading, runs: number): number {
    let stuck = 0;
    fc.assert(
      fc.property(anySession, ({ client, first, changes }) => {
        const judge = open();
        const readShared = sharingReader(client);
        let steps: readonly Step[] = first;
        for (const change of [(same: typeof steps) => same, ...changes]) {
          steps = change(steps);
          const expected = stuckSigns(requestOf(client, steps), READER);
          if (expected !== null) stuck++;
          expect(judge(readShared(steps))).toEqual(expected);
        }
      }),
      tries('a kept reading of a session changes no verdict', runs, 5_000),
    );
    return stuck;
  }

  /** Keeps signs by a name of the request. */
  const keepingBy = (nameOf: (turns: readonly Turn[]) => unknown) => (): Reading => {
    const known = new Map<unknown, StuckSigns | null>();
    return (request) => {
      const name = nameOf(request.conversation.turns);
      const signs = known.has(name) ? known.get(name)! : stuckSigns(request, READER);
      known.set(name, signs);
      return signs;
    };
  };
  const MUTANTS: Readonly<Record<string, () => Reading>> = {
    'ignores a change of the last message': keepingBy((turns) => turns.at(-2)),
    'ignores a change of an earlier message': keepingBy((turns) => turns.at(-1)),
    'counts the messages only': keepingBy((turns) => turns.length),
  };

  test('has the same signs as if each request were read whole', () => {
    expect(checkReading(() => (request) => stuckSigns(request, READER), 150)).toBeGreaterThan(100);
  });

  test('is read on from the turns that the request before had, or from a copy if the last messages have changed', () => {
    class CountingReader extends PromptReader {
      heard = 0;
      override message(text: string) {
        this.heard++;
        return super.message(text);
      }
    }
    const readShared = sharingReader('opencode');
    // While something fails, each message of the user is read.
    const steps = [TASK, ...Array.from({ length: 40 }, () => [failing(2), user('go on')]).flat()];
    const heardIn = (some: readonly Step[]) => {
      const reader = new CountingReader();
      stuckSigns(readShared(some), reader);
      return reader.heard;
    };
    expect(heardIn(steps)).toBeGreaterThan(30);
    const next = [...steps, failing(2), user('go on')];
    expect(heardIn(next)).toBe(1);
    expect(heardIn([...next.with(-1, user('again')), failing(2), user('please')])).toBeLessThan(15);
  });

  for (const [what, open] of Object.entries(MUTANTS)) {
    test(`would be judged wrongly by a reader that ${what}`, () => {
      expect(() => checkReading(open, 150)).toThrow();
    });
  }
});

/** The first letters of alphabets: Latin, Cyrillic, Hebrew, Armenian, Georgian, Hiragana, Chinese, Hangul. */
const ALPHABETS = [0x61, 0x430, 0x5d0, 0x561, 0x10d0, 0x3042, 0x4e00, 0xac00];
/** Words by which programs, test runners and clients report what happened. */
const OF_PROGRAMS =
  /error|exception|fail|pass|problem|panic|fatal|exit|code|wall|time|seconds|output|metadata|duration|\bok\b|not|success|status|file|at\b|tests?\b|running|previous|done|finish|built|compil|complete|date\b|wrote|E\b/i;

/** Returns a step whose result has other words: each letter stands for another letter of an alphabet. */
function inOtherWords(step: Step, alphabet: number, by: number): Step {
  if (!isCall(step)) return step;
  const result = step.result.replace(/[A-Za-z_]+/g, (word) =>
    OF_PROGRAMS.test(word) || word.length < 3
      ? word
      : [...word.toLowerCase()].map((letter) => (letter === '_' ? letter : other(letter, alphabet, by))).join(''),
  );
  return { ...step, result };
}
const other = (letter: string, alphabet: number, by: number): string =>
  String.fromCharCode(alphabet + ((letter.charCodeAt(0) - 0x61 + by) % 26));
