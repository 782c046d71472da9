import { expect, test } from 'bun:test';
import { AT_ONCE_WITH_EDIT_MAX, Turns } from '../../../../src/admin/use-cases/policy/turns.ts';

test('four pieces of work on policies and an edit run at the same time; a fifth check, or a second piece of work of the same caller, is refused', async () => {
  const turns = new Turns(() => 0);
  const over = Promise.withResolvers<string>();
  const work = () => over.promise;
  const checks = ['a', 'b', 'c', 'd'].map((who) => turns.take(who, work));
  await expect(turns.take('a', work)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  await expect(turns.take('e', work)).rejects.toMatchObject({ code: 'overloaded' });
  const edit = turns.take('e', work, AT_ONCE_WITH_EDIT_MAX);
  await expect(turns.take('f', work, AT_ONCE_WITH_EDIT_MAX)).rejects.toMatchObject({ code: 'overloaded' });
  over.resolve('done');
  for (const work of [...checks, edit]) expect(await work).toBe('done');
  expect(await turns.take('a', async () => 'again')).toBe('again');
});

test('a caller can start ten explanations in a second, and an eleventh explanation when the first is a second old', async () => {
  let now = 0;
  const turns = new Turns(() => now);
  const explain = async (who = 'a') => turns.explain(who, async () => 'explained');
  for (let at = 0; at < 10; at++) {
    expect(await explain()).toBe('explained');
    now += 50;
  }
  await expect(explain()).rejects.toMatchObject({ code: 'rate_limit_exceeded', info: { retryAfterMs: 500 } });
  expect(await explain('b')).toBe('explained');
  now = 1_000;
  expect(await explain()).toBe('explained');
  await expect(explain()).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
});

test('a caller can run only one explanation at a time', async () => {
  const turns = new Turns(() => 0);
  const over = Promise.withResolvers<string>();
  const running = turns.explain('a', () => over.promise);
  await expect(turns.explain('a', async () => 'second')).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  over.resolve('first');
  expect(await running).toBe('first');
  expect(await turns.explain('a', async () => 'second')).toBe('second');
});
