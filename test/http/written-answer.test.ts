import { expect, test } from 'bun:test';
import { decodeAnswer, FRAME_MARK } from '../../src/access/idempotency/answer.ts';
import { codeOf, writtenResponse } from '../../src/http/written-answer.ts';

const ALONE = { pace: () => null, leave: () => {} };

/** Answers as version 0.1 stored them: the head, a line break, and the text. */
function stored(head: object, body: string) {
  const answer = decodeAnswer(Buffer.from(`${JSON.stringify(head)}\n${body}`));
  if (!answer || 'parts' in answer) throw new Error('the stored answer is not read as a response');
  return answer;
}

/** The text of a body, and whether its source broke it off. */
async function untilThrown({ body }: Response): Promise<{ text: string; breaks: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of body ?? []) text += decoder.decode(bytes, { stream: true });
    return { text, breaks: false };
  } catch {
    return { text, breaks: true };
  }
}

test('a stored stream of version 0.1 is replayed with its frame in every event, and in pieces', async () => {
  const frame = 'data: {"id":"chatcmpl-1","choices":[';
  const events = Array.from({ length: 5_000 }, (_, i) => `${FRAME_MARK}{"index":0,"delta":{"content":"${i}"}}]}\n\n`);
  const head = { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, frame };
  const response = writtenResponse(stored(head, `${events.join('')}data: [DONE]\n\n`), ALONE);
  expect(response.headers.get('x-signalbox-replayed')).toBe('true');
  expect(await response.text()).toBe(`${events.join('').replaceAll(FRAME_MARK, frame)}data: [DONE]\n\n`);
});

test('if the policy says so, the replay of a failed stream of version 0.1 breaks its connection', async () => {
  const head = { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, frame: 'data: {' };
  const failed = `${FRAME_MARK}"choices":[]}\n\ndata: {"error":{"code":"upstream_failed"}}\n\n`;
  for (const [body, failedStreams, breaks] of [
    [failed, 'break', true],
    [failed, 'end', false],
    [`${FRAME_MARK}"choices":[]}\n\ndata: [DONE]\n\n`, 'break', false],
  ] as const) {
    const text = await untilThrown(writtenResponse(stored(head, body), ALONE, { failedStreams }));
    expect(text).toEqual({ text: body.replaceAll(FRAME_MARK, 'data: {'), breaks });
  }
});

test('a stored error of version 0.1 is replayed with its status and headers, and the log has its code', async () => {
  const body = '{"error":{"message":"It broke off.","type":"upstream_error","param":null,"code":"upstream_failed"}}';
  const answer = stored({ status: 502, headers: { 'x-should-retry': 'false' }, frame: '' }, body);
  const response = writtenResponse(answer, ALONE);
  expect([response.status, response.headers.get('x-should-retry'), await response.text()]).toEqual([
    502,
    'false',
    body,
  ]);
  expect([codeOf(answer), codeOf({ ...answer, status: 200 })]).toEqual(['upstream_failed', null]);
});
