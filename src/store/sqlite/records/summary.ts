/** The JSON paths of a summary's values, by the positions in `body.ts`. */
const OF_BODY = [
  ...['$[1][1]', '$[1][0]', '$[7]', '$[8]', '$[2]', '$[5][1]', '$[5][2][#-1][1]', '$[5][5]', '$[5][6]', '$[5][7]'],
  ...['$[5][8]', '$[5][3][0]', '$[5][3][3]', '$[11]', '$[5][13]', '$[5][14]', '$[5][16]', '$[5][17]', '$[5][19]'],
];

/**
 * Makes the summary of a row of `records`; null for a row that was edited. `body` is parsed once for all values, because parsing it for each
 * value takes twice as long.
 */
export const SUMMARY = `CASE WHEN json_valid(body) AND json_valid(labels)
    AND json_type(body, '$[3]') = 'text' THEN json_array(time, revision, json(labels), json_array_length(body, '$[5][2]'),
      json_extract(body, ${OF_BODY.map((path) => `'${path}'`).join(', ')})) END`;
