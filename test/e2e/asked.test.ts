import { describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { useSignalbox } from '../support/use.ts';

/** Tests what a decision shows of its request: the expected length of the answer, and programming languages. */
const box = useSignalbox();

interface Shown {
  readonly facts: { readonly asked_output_tokens: number | null; readonly languages: readonly string[] };
  readonly expected_output_tokens: number;
  readonly candidates: readonly { readonly model: string; readonly quality: number }[];
  readonly replay: { readonly matches: boolean };
}

const shown = (id: string): Promise<Shown> =>
  waitFor(async () => {
    const response = await box.get(`/v1/decisions/${id}`);
    return response.status === 200 ? ((await response.json()) as Shown) : null;
  });

async function routed(body: object): Promise<Shown> {
  const response = await box.post('/v1/route', body);
  expect(response.status).toBe(200);
  const { decision_id: id } = (await response.json()) as { decision_id: string };
  return shown(id);
}
const asking = (content: string) => ({ messages: [{ role: 'user', content }] });

describe('the expected output', () => {
  test('the expected output of a route query is the length that its question requests', async () => {
    const { facts, expected_output_tokens: expected } = await routed(
      asking('Why do bees dance? Answer in two sentences.'),
    );
    expect([facts.asked_output_tokens, expected]).toEqual([60, 60]);
  });

  test('the expected output of a greeting is short; a question that requests no length has its task’s usual length', async () => {
    expect((await routed(asking('Hello!'))).expected_output_tokens).toBeLessThan(50);
    const { facts, expected_output_tokens: expected } = await routed(asking('Why is the sky blue?'));
    expect([facts.asked_output_tokens, expected]).toEqual([null, 400]);
  });

  test('the expected output of a chat follows its schema and its system prompt, and `max_tokens` limits it', async () => {
    const chat = async (more: object) => {
      const response = await box.post('/v1/chat/completions', {
        model: 'auto',
        ...asking('Who was Ada Lovelace?'),
        ...more,
      });
      expect(response.status).toBe(200);
      const { platform } = await answerOf(response);
      return shown(platform!.decision_id);
    };
    const schema = { type: 'object', properties: { name: { type: 'string' }, born: { type: 'integer' } } };
    const format = { type: 'json_schema', json_schema: { name: 'person', schema } };
    const system = { role: 'system', content: 'Answer in one word.' };
    const [formatted, capped, short] = await Promise.all([
      chat({ response_format: format }),
      chat({ response_format: format, max_tokens: 9 }),
      chat({ messages: [system, ...asking('What is the capital of France?').messages] }),
    ]);
    expect(formatted.expected_output_tokens).toBeGreaterThan(15);
    expect(formatted.expected_output_tokens).toBeLessThan(60);
    expect([capped.expected_output_tokens, short.expected_output_tokens]).toEqual([9, 4]);
  });
});

describe('programming languages', () => {
  test('programming languages in a question are listed and change no quality, and a repeated decision is equal bit for bit', async () => {
    const [rust, none] = [
      await routed(asking('Write a Rust function that parses a CSV file.')),
      await routed(asking('Write a function that parses a CSV file.')),
    ];
    expect([rust.facts.languages, none.facts.languages]).toEqual([['rust'], []]);
    const qualities = ({ candidates }: Shown) => new Map(candidates.map(({ model, quality }) => [model, quality]));
    expect(qualities(rust)).toEqual(qualities(none));
    expect([rust.replay.matches, none.replay.matches]).toEqual([true, true]);
  });

  test('a programming language that no model declares is accepted; an unknown name is refused, with the probable spelling', async () => {
    for (const name of ['html', 'css', 'scala', 'r', 'dart', 'PowerShell', 'Dockerfile', 'terraform'])
      await routed({ task_type: 'coding', constraints: { required_languages: [name] } });
    const response = await box.post('/v1/route', { constraints: { required_languages: ['pyhton'] } });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code]).toEqual([422, 'no_eligible_model']);
    expect(error.message).toContain('`pyhton` is not a known programming language (did you mean `python`?)');
  });
});
