import { describe, expect, test } from 'bun:test';
import type { PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import { QuestionLengths } from '../../../src/gateway/prompt/question-lengths.ts';
import { questionLengthOf } from '../../../src/routing/question-length.ts';
import { facts, GENERAL, model, snapshot } from '../../routing/build.ts';
import { chatRequest } from '../../support/model-request.ts';

/**
 * The stored part `tasks` of a server version that learned from outcomes and their words (57258952), and what that version found for
 * `QUESTION`.
 */
const EARLIER = Buffer.from(
  'MUxCTAXu5nsAAAAAAABkQII1+JZujtO/rVdvXkPOqj/xLQxWboTpv04La1opDtE/AwAAAAEAAAAqAAAAAAAAYGNAAAAAAAAANEC6iW6im+gEwPA/Jeddh50/mV3wR/bCwr+8Tiv+LkCWP+zum5o6L9e/zm05/k6Nuj8HAAAAZwBlAG4AZQByAGEAbAAAAAAAAEBjQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABgAAAGMAbwBkAGkAbgBnAAAAAAAA4GNAAAAAAAAANECwE+wEO8H2v5p/OVTVJKM/oEtE1Gx+xL9MmJLHb3+fP8xIq2CmB9y/IRSPw2TsxD8BAAAAAQAAAG0AYD5PPR5RsD8AAAAAAAAAAFzIFW/+LrY/',
  'base64',
);
/** The bytes at the end with figures about words, which are not read. */
const WORDS_BYTES = 74;
const QUESTION = 'seven words of a question of today';
const FOUND = { general: -0.1071404046877861, coding: 0.04178492950009158 };

const lengthOf = (content: string) =>
  questionLengthOf(chatRequest({ messages: [{ role: 'user', content }] }).conversation.turns);

/** A policy with a declared quality for each task except the first. */
function policyOf(...names: readonly string[]): PolicySnapshot {
  const one = model('m', { q: 0.5 });
  const stated = Uint8Array.from(names, (_, at) => (at === 0 ? 0 : 1));
  const quality = new Float64Array(names.length).fill(0.5);
  return snapshot([{ ...one, quality, declared: { ...one.declared, stated } }], {
    tasks: names.map((name) => ({ ...GENERAL, name })),
    taskIndex: new Map(names.map((name, at) => [name, at])),
  });
}

const TWO = policyOf('general', 'coding');
const found = (lengths: QuestionLengths, task: string) => lengths.estimate(TWO, facts({ task }), lengthOf(QUESTION));

describe('the lengths of questions', () => {
  test.each(Object.entries(FOUND))(
    'stored lengths of an earlier version count for the task %s, exact to the bit',
    (task, by) => {
      expect(found(new QuestionLengths(EARLIER), task)?.length).toBe(by);
    },
  );

  test('lengths of questions are the same after they were stored, with the mark of the installation', () => {
    const lengths = new QuestionLengths(EARLIER);
    expect(lengths.save()).toBeNull();
    lengths.note(TWO, facts({ task: 'coding' }), lengthOf('Why?'));
    const bytes = lengths.save()!;
    expect(bytes.slice(0, 8)).toEqual(new Uint8Array(EARLIER.subarray(0, 8)));
    expect(lengths.save()).toBeNull();
    const again = new QuestionLengths(bytes);
    for (const task of ['general', 'coding']) expect(found(again, task)).toEqual(found(lengths, task));
  });

  test('damaged lengths of questions are ignored, wherever the damage is', () => {
    for (let end = 0; end < EARLIER.length - WORDS_BYTES; end++) {
      const cut = new QuestionLengths(EARLIER.subarray(0, end));
      expect([end, found(cut, 'general'), found(cut, 'coding')]).toEqual([end, null, null]);
    }
    const notFinite = new Uint8Array(EARLIER);
    notFinite.fill(0xff, 8, 16);
    expect(found(new QuestionLengths(notFinite), 'coding')).toBeNull();
  });

  test('lengths change no quality for a question without text, or for a task without questions', () => {
    const lengths = new QuestionLengths();
    lengths.note(TWO, facts({ task: 'coding' }), 1);
    lengths.note(TWO, facts({ task: 'general' }), null);
    expect(lengths.estimate(TWO, facts({ task: 'coding' }), null)).toBeNull();
    expect(lengths.estimate(TWO, facts({ task: 'general' }), 2)).toBeNull();
    expect(lengths.estimate(TWO, facts({ task: 'coding' }), 2)?.length).toBeLessThan(0);
  });

  test('lengths are kept for at most 256 tasks: the task that was used least recently is replaced', () => {
    const names = Array.from({ length: 258 }, (_, at) => `task${at}`);
    const many = policyOf(...names);
    const lengths = new QuestionLengths();
    const note = (at: number) => lengths.note(many, facts({ task: names[at]! }), 0);
    for (let at = 1; at <= 256; at++) note(at);
    note(1);
    note(257);
    const known = (at: number) => lengths.estimate(many, facts({ task: names[at]! }), 1) !== null;
    expect([known(1), known(2), known(3), known(257)]).toEqual([true, false, true, true]);
  });
});
