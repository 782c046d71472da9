import { SignalboxError } from '../core/errors.ts';

/** Objects and lists inside each other. Deeper JSON parses, and then breaks whoever walks or prints it. */
const DEPTH_MAX = 64;

/** Reads a JSON body of at most `bytesMax` bytes. Throws SignalboxError 413 or 400. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const text = request.headers.has('content-length') ? await request.text() : await readBounded(request, bytesMax);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SignalboxError(
      'invalid_json',
      text === '' ? 'The body is empty; send a JSON object.' : `The body is not valid JSON: ${reason(cause)}.`,
      {
        cause,
      },
    );
  }
  if (isDeeperThan(value, DEPTH_MAX)) {
    throw new SignalboxError('invalid_json', `The body nests deeper than ${DEPTH_MAX} levels.`);
  }
  return value;
}

/** What JSON.parse says, cut: it quotes what it met. */
function reason(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : '';
  return message.replace(/^JSON Parse error: /, '').slice(0, 80) || 'it could not be parsed';
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeperThan(item, levels - 1)) return true;
    return false;
  }
  for (const item of Object.values(value)) if (isDeeperThan(item, levels - 1)) return true;
  return false;
}

/** For bodies that do not say how long they are: counts while it reads. */
async function readBounded(request: Request, bytesMax: number): Promise<string> {
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export function tooLarge(bytesMax: number): SignalboxError {
  return new SignalboxError('request_too_large', `The body may have at most ${bytesMax} bytes.`);
}
