import { webOriginOf } from '../../core/net/web-origin.ts';
import type { Report } from '../report/report.ts';
import type { GatewayText } from '../schema/policy.ts';
import { placeAt, type Tree } from '../yaml/tree.ts';

/** An origin with a scheme other than http or https, such as the origin of a browser extension. */
const OF_APPLICATION = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+$/;

/** Reads the origins whose web pages may read answers. @param tree the section `gateway` */
export function readOrigins({ cors }: GatewayText, tree: Tree, report: Report): ReadonlySet<string> {
  const origins = cors?.origins ?? [];
  origins.forEach((written, at) => {
    const isOrigin = !written.includes('*') && webOriginOf(written) === written;
    if (isOrigin || OF_APPLICATION.test(written)) return;
    report.add('bad-form', placeAt(tree, 'cors', 'origins', at), `\`${written}\` is not an origin`, {
      expected: 'scheme, host and port as browsers send them, such as `https://app.example` or `http://localhost:5173`',
      hint: hintFor(written),
    });
  });
  return new Set(origins);
}

function hintFor(written: string): string | undefined {
  if (written.includes('*')) return 'list each origin; `*` is not supported';
  const origin = webOriginOf(written);
  return origin ? `write \`${origin}\`` : undefined;
}
