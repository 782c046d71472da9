import { expect, test } from 'bun:test';
import { failedError } from '../../src/gateway/failure.ts';

test.each([
  ['messages[0].content[1].file is no PDF', 'messages[0].content[1].file'],
  ['seed cannot be had of this model', 'seed'],
  ['too long for us', undefined],
  ['`seed` is none', undefined],
])('what was never sent is told with its field, where it names one: %s', (message, param) => {
  const failure = { kind: 'rejected', message } as const;
  expect(failedError([{ model: 'm', provider: 'p', failure, requestId: null, sent: false }], false).info.param).toBe(
    param!,
  );
});
