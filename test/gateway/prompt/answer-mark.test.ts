import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { AnswerMark, markOfTurn } from '../../../src/gateway/prompt/answer-mark.ts';
import { chatRequest } from '../../support/model-request.ts';

const markOfMessage = (message: ChatMessage) => markOfTurn(chatRequest({ messages: [message] }).conversation.turns[0]!);

test('Signalbox recognizes an answer by its words and calls, however the answer is split into pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }), (pieces, ids) => {
      const mark = new AnswerMark();
      for (const text of pieces) mark.add({ type: 'text', choice: 0, text });
      ids.forEach((id, index) => {
        mark.add({ type: 'tool-call', choice: 0, index, id, name: 'f', arguments: '' });
        mark.add({ type: 'tool-call', choice: 0, index, arguments: '{}' });
      });
      mark.add({ type: 'text', choice: 1, text: 'of another choice' });
      const calls = ids.map((id) => ({ id, type: 'function' as const, function: { name: 'f', arguments: '{}' } }));
      const content = pieces.join('');
      expect(mark.value).toBe(markOfMessage({ role: 'assistant', content, tool_calls: calls }));
      expect(mark.value).not.toBe(markOfMessage({ role: 'assistant', content: `${content}.`, tool_calls: calls }));
    }),
    { numRuns: 300 },
  );
});
