import { expect, test } from 'bun:test';
import { decodeAnswer } from '../../src/access/idempotency/answer.ts';
import { codeOf, writtenResponse } from '../../src/http/kit/written-answer.ts';

const ALONE = { pace: () => null, leave: () => {} };

/** A stored answer: the head, a line break, and the text. */
function stored(head: object, body: string) {
  const answer = decodeAnswer(Buffer.from(`${JSON.stringify(head)}\n${body}`));
  if (!answer || 'parts' in answer) throw new Error('the stored answer is not read as a response');
  return answer;
}

test('a stored error is replayed with its status and headers, and the log has its code', async () => {
  const body = '{"error":{"message":"It broke off.","type":"upstream_error","param":null,"code":"upstream_failed"}}';
  const answer = stored({ status: 502, headers: { 'x-should-retry': 'false' } }, body);
  const response = writtenResponse(answer, ALONE);
  expect([response.status, response.headers.get('x-should-retry'), await response.text()]).toEqual([
    502,
    'false',
    body,
  ]);
  expect([codeOf(answer), codeOf({ ...answer, status: 200 })]).toEqual(['upstream_failed', null]);
});
