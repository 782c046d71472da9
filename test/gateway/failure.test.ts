import { expect, test } from 'bun:test';
import { failedError } from '../../src/gateway/failure.ts';
import { chatRequest } from '../support/model-request.ts';

test.each([
  ['messages[0].content[1].file is no PDF', 'messages[0].content[1].file'],
  ['stream cannot be had of this model', 'stream'],
  ['too long for us', undefined],
  ['`stream` is none', undefined],
])('what was never sent is told with its field, where it names one: %s', (message, param) => {
  const failure = { kind: 'rejected', message } as const;
  expect(
    failedError(
      [{ model: 'm', provider: 'p', failure, requestId: null, sent: false }],
      false,
      chatRequest({ stream: true }),
    ).info.param,
  ).toBe(param!);
});
