import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { systemFirst } from '../../plugins/providers/openai-compatible/system-first.ts';
import type { Members } from '../../src/core/json/original.ts';
import { tries } from '../deep/effort.ts';

/** Texts that state their positions, as a string or as parts. */
const message = fc.record({
  role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool'),
  isParts: fc.boolean(),
});
const conversations = fc.array(message, { maxLength: 7 }).map((all) =>
  all.map(({ role, isParts }, at): Members => {
    const text = `t${at}.`;
    return { role, content: isParts ? [{ type: 'text', text }] : text };
  }),
);

const textIn = ({ content }: Members): string =>
  Array.isArray(content) ? content.map((part) => part.text).join(' ') : String(content);
const isInstruction = ({ role }: Members): boolean => role === 'system' || role === 'developer';
/** Returns the messages with instructions after the results that follow them, because nothing comes between a call and its results. */
const withResultsFirst = (messages: readonly Members[]): Members[] => {
  const waiting: Members[] = [];
  const ordered = messages.flatMap((one) => {
    if (one.role === 'tool') return [one];
    if (!isInstruction(one)) return [...waiting.splice(0), one];
    waiting.push(one);
    return [];
  });
  return [...ordered, ...waiting];
};
const placesIn = (messages: readonly Members[]): string[] => messages.map(textIn).join(' ').match(/t\d\./g) ?? [];

const law = (fit: typeof systemFirst) =>
  fc.property(conversations, (messages) => {
    const before = structuredClone(messages);
    const sent = fit(messages);
    expect(messages).toEqual(before);
    // The request has a single system message, at the beginning.
    expect(sent.findLastIndex(isInstruction)).toBeLessThan(1);
    const leading = messages.findIndex((one) => !isInstruction(one));
    const begin = leading < 0 ? messages.length : leading;
    // Every text is present, in the caller's order, and marked if it is an instruction after the first other message.
    const ordered = [...messages.slice(0, begin), ...withResultsFirst(messages.slice(begin))];
    expect(placesIn(sent)).toEqual(placesIn(ordered));
    for (const late of messages.slice(begin).filter(isInstruction)) {
      expect(sent.map(textIn).join(' ')).toContain(`<system>\n${textIn(late)}\n</system>`);
    }
    // No answer and no user's message after a result is added.
    const rolesOf = (list: readonly Members[]) => list.filter(({ role }) => role === 'assistant' || role === 'tool');
    expect(rolesOf(sent).map(({ role }) => role)).toEqual(rolesOf(messages).map(({ role }) => role));
    const afterTool = (list: readonly Members[]) =>
      list.filter(({ role }, at) => role === 'user' && list[at - 1]?.role === 'tool').length;
    expect(afterTool(sent)).toBe(afterTool(messages.filter((one, at) => at < begin || !isInstruction(one))));
    expect(fit(sent)).toBe(sent);
  });

describe('system messages for a server that accepts only one, at the beginning,', () => {
  test('keep every text in its place', () => {
    fc.assert(
      law(systemFirst),
      tries('instructions keep their place where a server takes one system message', 300, 20_000),
    );
  });

  test.each<[string, typeof systemFirst]>([
    [
      'moved to the beginning',
      (all) => [...all.filter(isInstruction).slice(0, 1), ...all.filter((m) => !isInstruction(m))],
    ],
    [
      'given to the user without a mark',
      (all) => all.map((one, at) => (at > 0 && isInstruction(one) ? { ...one, role: 'user' } : one)),
    ],
    ['left where they are', (all) => all],
    [
      'put between a call and its result',
      (all) => {
        const isCut = (at: number) => all[at - 1]?.role === 'assistant' && all[at + 1]?.role === 'tool';
        const marked = (one: Members) => ({ role: 'user', content: `<system>\n${textIn(one)}\n</system>` });
        return systemFirst(all.map((one, at) => (isInstruction(one) && isCut(at) ? marked(one) : one)));
      },
    ],
  ])('would not keep every text in its place if they were %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 300, seed: 1, endOnFailure: true }).failed).toBe(true);
  });

  test('are put in the neighbouring message', () => {
    const said = (role: string, content: string) => ({ role, content });
    expect(
      systemFirst([
        said('system', 'S'),
        said('developer', 'D'),
        said('user', 'a'),
        said('assistant', 'b'),
        said('system', 'late'),
        said('user', 'c'),
        said('assistant', 'd'),
        said('developer', 'early'),
        said('tool', 'r'),
        said('system', 'last'),
      ]),
    ).toEqual([
      said('system', 'S\n\nD'),
      said('user', 'a'),
      said('assistant', 'b'),
      said('user', '<system>\nlate\n</system>\n\nc'),
      said('assistant', 'd'),
      said('tool', 'r\n\n<system>\nearly\n</system>\n\n<system>\nlast\n</system>'),
    ]);
  });
});
