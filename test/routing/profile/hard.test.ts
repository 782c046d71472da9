import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Difficulty } from '../../../src/core/facts.ts';
import type { ChatBody as ProfileInput } from '../../support/chat-body.ts';
import { profile } from '../../support/chat-body.ts';
import { bytesOf, promptsOf, user } from './prompts.ts';

interface GradedPrompt {
  readonly id: string;
  readonly difficulty: Difficulty;
  readonly request: ProfileInput;
}

const gradedOf = (name: string): GradedPrompt[] =>
  readFileSync(join(import.meta.dir, '..', 'prompts', `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line): GradedPrompt => JSON.parse(line));

/** Prompts that the rule's author wrote before the rule and never used for tuning. */
const HELD_OUT = 'difficulty-heldout';
const HELD_OUT_SHA256 = '5a21aace8ed3f67bb9e96f033399f4534ae723117cbad11f2dbb966aa10b3113';

const difficultyOf = (content: string): Difficulty => profile({ messages: [user(content)] }).difficulty;
const notOf = (difficulty: Difficulty, questions: readonly string[]) =>
  questions.filter((question) => difficultyOf(question) !== difficulty);

/** Returns precision and recall, 0..1. */
function scoreOf(prompts: readonly GradedPrompt[]): { precision: number; recall: number } {
  const read = prompts.map(({ difficulty, request }) => [difficulty, profile(request).difficulty] as const);
  const hits = read.filter(([label, seen]) => label === 'hard' && seen === 'hard').length;
  const of = (at: 0 | 1): number => read.filter((pair) => pair[at] === 'hard').length;
  return { precision: hits / of(1), recall: hits / of(0) };
}

const goCode = (functions: number): string =>
  Array.from(
    { length: functions },
    (_, at) =>
      `func (s *Store) Put${at}(key string, value int) {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.rows[key] = value\n}`,
  ).join('\n');

describe('hard', () => {
  test('the rule for hard requests agrees with labelled prompts, including held-out ones', () => {
    const kept = new Bun.CryptoHasher('sha256').update(bytesOf(HELD_OUT)).digest('hex');
    expect(kept).toBe(HELD_OUT_SHA256);
    for (const name of ['difficulty', HELD_OUT]) {
      const { precision, recall } = scoreOf(gradedOf(name));
      expect(precision).toBeGreaterThanOrEqual(0.97);
      expect(recall).toBeGreaterThanOrEqual(0.9);
    }
  });

  test('the proof of a named open problem is hard, however short, and a question about the problem is not', () => {
    const open = ['Prove the Riemann hypothesis', 'Disprove P = NP', 'Solve the Collatz conjecture', '证明黎曼猜想'];
    expect(notOf('hard', open)).toEqual([]);
    expect(notOf('usual', ['What is the Riemann hypothesis?', 'Is P = NP?', 'Who was Riemann?'])).toEqual([]);
  });

  test('a problem under a system prompt about competitions is hard', () => {
    const under = (system: string): Difficulty =>
      profile({
        messages: [{ role: 'system', content: system }, user('Find all n such that n^2+1 divides n+1')],
      }).difficulty;
    expect(under('You solve olympiad problems')).toBe('hard');
    expect(under('You help pupils with homework')).toBe('usual');
  });

  test('work for experts is hard: proofs, code, law, verse, reviews', () => {
    const questions = [
      'Prove that every finite group of odd order is solvable — sketch the argument',
      "Prove Fermat's last theorem",
      'Design a lock-free MPMC queue in Rust with hazard pointers',
      'Translate this clause of the lease into English: …',
      'our mutex based cache is the bottleneck at 64 cores; rewrite it lock free',
      'Port our entire codebase from Flow to TypeScript, 900 files, keep git blame',
      'Schreibe einen Gesellschaftsvertrag für eine GmbH mit Vesting und Vorkaufsrecht',
      'Übersetze dieses Gedicht ins Französische, Reim und Metrum erhalten:\n\nWer reitet so spät durch Nacht und Wind?\nEs ist der Vater mit seinem Kind;\nEr hat den Knaben wohl in dem Arm,',
    ];
    expect(notOf('hard', questions)).toEqual([]);
  });

  test('a question that only names a subject is not hard, and neither is a school proof', () => {
    const questions = [
      'what is a deadlock?',
      'explain Raft',
      'what is a race condition',
      'How do I write a compiler?',
      'should I use a lock-free queue or a mutex?',
      'Prove that sqrt(2) is irrational',
      'Prove that the angles of a triangle add up to 180 degrees.',
      'Why does this deadlock?',
      'center a div',
      'write a birthday poem',
    ];
    expect(notOf('usual', questions)).toEqual([]);
  });

  test('a request that only contains the words of a rule is not hard', () => {
    const questions = [
      'write a raft of jokes about boats',
      'add a lock-free door icon to my landing page',
      'write a docker compose for a raft cluster',
      'design a logo for our compiler team',
      'fix this compiler error: expected ; before }',
      'Show that you care in a group setting, compact answer',
      'Prove to me that my group is compact',
      'The proof is in the pudding, write a proof of concept for abelian sandpile art',
      'write a contract test with Pact for this API',
      'Write a smart contract in Solidity that stores a number',
      'Draft a reply to this mail: can we meet on Monday to sign the contract?',
      'translate: "the Santa Clause" into German with its article',
      'critical path of my project: which task first, given this abstract plan of mine with five tasks and two people?',
      'Upgrade all 12 files to the new logo',
      'print numbers up to n <= 10^5',
      'show that group by order works in SQL with example',
    ];
    expect(notOf('usual', questions)).toEqual([]);
  });

  test('a question about a subject is never hard, in any wording', () => {
    const frames = [
      ...[
        'What is ',
        'Tell me about ',
        'Explain how to write ',
        'How do I implement ',
        'Should I build ',
        'Is it hard to draft ',
      ],
      ...['What is the best way to compare ', 'When would one prove that there is '],
    ];
    const subjects = [
      ...['a lock-free queue', 'a compiler in Rust', 'type inference', 'the Raft consensus algorithm', 'X25519'],
      ...['a limitation of liability clause', 'a compact metric space', 'an indemnity clause of a contract'],
    ];
    fc.assert(
      fc.property(fc.constantFrom(...frames), fc.constantFrom(...subjects), fc.boolean(), (frame, subject, asks) => {
        expect(difficultyOf(`${frame}${subject}${asks ? '?' : ''}`)).not.toBe('hard');
      }),
    );
  });

  test('a failure in 12 lines of multithreaded code is hard; in fewer lines, or with another task, it is not', () => {
    expect(difficultyOf(`Why does this deadlock?\n\n\`\`\`go\n${goCode(12)}\n\`\`\``)).toBe('hard');
    expect(difficultyOf(`Why does this deadlock?\n\n${goCode(12)}`)).toBe('hard');
    expect(difficultyOf(`Why does this deadlock?\n\n\`\`\`go\n${goCode(1)}\n\`\`\``)).toBe('usual');
    expect(difficultyOf(`Add comments to this.\n\n\`\`\`go\n${goCode(12)}\n\`\`\``)).toBe('usual');
  });

  test('a deadlock or race in a program that the request describes is hard; in other programs it is not', () => {
    const described = [
      'My Go program deadlocks: two goroutines each hold one mutex and wait for the other. How do I fix it?',
      'In our Java service a race condition sells the same seat twice when two threads confirm at once.',
    ];
    expect(notOf('hard', described)).toEqual([]);
    const others = [
      'How do I avoid deadlocks in Postgres?',
      'Our talks with the union ended in deadlock and we need a mediator soon',
    ];
    expect(notOf('usual', others)).toEqual([]);
  });

  test('a failure in 4,000 characters of a log is hard; in fewer characters, or as a summary, it is not', () => {
    const log = (lines: number): string =>
      Array.from({ length: lines }, (_, at) => `12:00:${at} level=info node=a msg="append entries" index=${at}`).join(
        '\n',
      );
    const asking = 'The cluster lost its leader last night. Find out why from these logs.';
    expect(difficultyOf(`${asking}\n\n\`\`\`\n${log(90)}\n\`\`\``)).toBe('hard');
    expect(difficultyOf(`${asking}\n\n\`\`\`\n${log(20)}\n\`\`\``)).toBe('usual');
    expect(difficultyOf(`Summarize these logs.\n\n\`\`\`\n${log(90)}\n\`\`\``)).toBe('usual');
  });

  test('multiple choice, images, labels, summaries and extraction are not hard', () => {
    const question = 'Let X be a compact space. Show that every closed subset of it is\nA. open\nB. compact\nC. finite';
    expect(difficultyOf(question)).toBe('usual');
    const sets = ['dev', 'acts', 'everyday', 'everyday-more', 'terse', 'traps', 'talks', 'standing', 'standing-more'];
    const tasks = ['chat', 'classification', 'summarization', 'extraction', 'vision', 'tool_use'];
    const others = sets.flatMap(promptsOf).filter(({ task }) => tasks.includes(task));
    expect(others.filter(({ request }) => profile(request).difficulty === 'hard').map(({ id }) => id)).toEqual([]);
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
    const words = { type: 'text', text: 'Prove that every finite group of odd order is solvable.' } as const;
    expect(profile({ messages: [{ role: 'user', content: [words, image] }] }).difficulty).toBe('usual');
  });
});
