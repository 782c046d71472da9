import { expect, test } from 'bun:test';
import { ServerLife } from '../../src/server/life.ts';

test('a part that cannot be closed does not keep earlier parts open', async () => {
  const life = new ServerLife();
  const closed: string[] = [];
  life.closes.defer(() => void closed.push('store'));
  life.closes.defer(() => Promise.reject(new Error('disk full')));
  life.closes.defer(() => void closed.push('alerts'));
  await expect(life.closes.disposeAsync()).rejects.toThrow('disk full');
  expect(closed).toEqual(['alerts', 'store']);
});
