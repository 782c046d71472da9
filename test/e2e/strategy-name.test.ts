import { expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { useSignalbox } from '../support/use.ts';

const box = useSignalbox();

test('the error about a strategy named as a model suggests the selectors, in every dialect', async () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const bodies = {
    '/v1/chat/completions': { messages },
    '/v1/messages': { messages, max_tokens: 5 },
    '/v1/responses': { input: 'Hi' },
    '/v1/route': { messages },
  };
  for (const [path, body] of Object.entries(bodies)) {
    const response = await box.post(path, { model: 'auto', route_strategy: 'auto-fast', ...body });
    const { message } = await expectError(response, 'invalid_type', 'route_strategy');
    expect(message).toContain('set `model` to a selector such as `auto-fast`');
    const other = await expectError(
      await box.post(path, { model: 'auto', route_strategy: 7, ...body }),
      'invalid_type',
      'route_strategy',
    );
    expect(other.message).not.toContain('selector');
  }
});
