import { expect, test } from 'bun:test';
import type { TokenSubject } from '../../../src/store/subjects.ts';
import type { TestedStore } from '../implementations.ts';

export const subject = (id: string, more: Partial<TokenSubject> = {}): TokenSubject => ({
  ...{ id, issuer: 'https://issuer.example', sub: `sub of ${id}`, name: 'issuer' },
  ...more,
});

/** The guarantees of every table of subjects. */
export function subjectSuite(open: () => Promise<TestedStore>): void {
  test('a subject keeps its position by its first token, and has the name and time of its last token', async () => {
    await using store = await open();
    const { subjects } = store;
    await store.commit([
      subjects.see(subject('a'), 10),
      subjects.see(subject('b'), 20),
      subjects.see(subject('c'), 30),
    ]);
    await store.commit([subjects.see(subject('a', { name: 'renamed' }), 40), subjects.see(subject('b'), 15)]);
    const a = { ...subject('a', { name: 'renamed' }), firstSeen: 10, lastSeen: 40 };
    const b = { ...subject('b'), firstSeen: 20, lastSeen: 20 };
    const c = { ...subject('c'), firstSeen: 30, lastSeen: 30 };
    expect(await subjects.list(9, null)).toEqual([c, b, a]);
    expect(await subjects.list(1, 'c')).toEqual([b]);
    expect(await subjects.list(9, 'unknown')).toEqual([]);
    expect(await subjects.find('b')).toEqual(b);
    expect(await subjects.find('d')).toBeNull();
  });
}
