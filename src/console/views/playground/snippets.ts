import { DIALECTS, type Dialect, type RequestBody } from './body.ts';

/** Quotes any text as one word of a shell command. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * A shell command that sends a body.
 * @param origin of the gateway, with the path prefix of a proxy
 */
export const curlOf = (origin: string, dialect: Dialect, body: RequestBody): string =>
  [
    `curl${body.stream === true ? ' --no-buffer' : ''} ${quoted(origin + pathOf(dialect, body))}`,
    '-H "authorization: Bearer $SIGNALBOX_KEY"',
    "-H 'content-type: application/json'",
    `--data-raw ${quoted(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ');

/** The path of a dialect; the name of the model replaces the parameter of the path. */
const pathOf = (dialect: Dialect, { model }: RequestBody): string =>
  DIALECTS[dialect].path.replace('{model}', () => encodeURIComponent(String(model)));

const KEY = 'process.env.SIGNALBOX_KEY';

/** A program that sends a body with the client library of its dialect. JSON is valid JavaScript, so the body is inserted unchanged. */
export function sdkOf(origin: string, dialect: Dialect, body: RequestBody): string {
  const { client, base, call, text, delta } = DIALECTS[dialect];
  const options = `baseURL: ${JSON.stringify(origin + base)}, ${client.key.replace('KEY', KEY)}`;
  const start = `import ${client.name} from '${client.package}';\n\nconst client = new ${client.name}({ ${options} });`;
  const end =
    body.stream === true
      ? `for await (const event of answer) process.stdout.write(${delta});`
      : `console.log(${text});`;
  return `${start}\nconst answer = await client.${call}(${JSON.stringify(body, null, 2)});\n${end}\n`;
}
