import { Elysia } from 'elysia';
import { unlisted } from '../kit/route-table.ts';
import { answer, leavesDocs, pageFile, START } from './guide.ts';

/** Where the pages are served as Markdown, relative to `/llms.txt`. A proxy may serve Signalbox below a path. */
const FOLDER = 'docs/markdown/';

const ABOUT = `# Signalbox

> Signalbox is a self-hosted gateway for large language models. Applications call one endpoint; Signalbox chooses the model by policy, calls
> the provider, charges the cost in Credits and explains every choice.

- [API](openapi.json): the OpenAPI document of this server
`;

/**
 * `/llms.txt` lists the pages of `docs/` for programs that read documentation (https://llmstxt.org), and `/docs/markdown/` has the pages
 * as Markdown. Links between pages lead from one to the other.
 */
export function llmsRoutes() {
  const open = unlisted({ access: 'open' });
  return new Elysia({ name: 'llms', strictPath: true })
    .get(
      '/llms.txt',
      async () => answer(listOf(await (await pageFile(START)).text()), 'text/plain; charset=utf-8'),
      open,
    )
    .get(`/${FOLDER}`, () => fileAt(START), open)
    .get(`/${FOLDER}*`, ({ params }) => fileAt(params['*']), open);
}

/** Makes the list from the page that lists all pages: all below its title, with links to the Markdown of each page. */
function listOf(start: string): string {
  const links = start
    .slice(start.indexOf('\n\n') + 1)
    .replace(/\[([^\]]*)\]\(([^)]*)\)/g, (_, name: string, href: string) =>
      leavesDocs(START, href) ? name : `[${name}](${FOLDER}${href})`,
    );
  return ABOUT + links;
}

/** @throws SignalboxError `not_found` */
async function fileAt(name: string): Promise<Response> {
  const file = await pageFile(name);
  return answer(file, name.endsWith('.md') ? 'text/markdown; charset=utf-8' : file.type);
}
