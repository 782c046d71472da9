import { expect, test } from 'bun:test';
import { logForeignFields } from '../../../../src/gateway/request/observe/foreign-fields.ts';
import { contextWith, resultOf } from '../../../support/request-context.ts';

test('a field of another API is logged once for each key, for its own route, and for at most a thousand pairs', () => {
  const logged: unknown[] = [];
  const report = logForeignFields(
    { warn: (_, fields) => logged.push(fields) },
    new Map([['/chat', new Map([['system', 'a message']])]]),
  );
  const end = (keyId: string, route: string, ...dropped: string[]) =>
    report(contextWith({ keyId, route, result: resultOf({}, { dropped }) }), 0);
  end('a', '/chat', 'user', 'system');
  end('a', '/chat', 'system');
  end('a', '/other', 'system');
  expect(logged).toEqual([{ key: 'a', field: 'system', instead: 'a message' }]);
  for (let at = 0; at < 2_000; at++) end(`k${at}`, '/chat', 'system');
  expect(logged).toHaveLength(1_000);
});
