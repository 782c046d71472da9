import { outcomePath, SUMMARY_PATHS } from '../../sql/records/body.ts';

/**
 * Makes the summary of a row of `records`; null for a row that was edited. `body` is parsed once for all values, because parsing it for each
 * value takes twice as long.
 */
export const SUMMARY = `CASE WHEN json_valid(body) AND json_valid(labels)
    AND json_type(body, '$[3]') = 'text' THEN json_array(time, revision, json(labels), json_array_length(body, '${outcomePath('attempts')}'),
      json_extract(body, ${SUMMARY_PATHS.map((path) => `'${path}'`).join(', ')})) END`;
