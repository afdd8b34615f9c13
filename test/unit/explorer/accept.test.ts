import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefersCsv } from '../../../src/explorer/routes/accept.ts';

const CSV = [
  'text/csv',
  'TEXT/CSV; charset=utf-8',
  'text/csv;q=0.1',
  'text/*',
  'text/csv, application/json',
  'text/csv, */*',
  'application/json;q=0.5, text/csv;q=0.9',
  '*/*;q=0.1, text/csv',
  ' text/html , text/csv ; q = 1.0'
];
const JSON_WANTED = [
  undefined,
  '',
  '*/*',
  'application/json',
  'application/json, text/csv',
  'text/csv;q=0',
  'text/csv;q=0, */*',
  'text/csv;q=0.5, application/json',
  'text/csv;q=2',
  'text/csv-schema',
  'text/csv-schema, */*',
  'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
];
for (const accept of CSV) test(`Accept: ${accept} is given CSV`, () => assert.equal(prefersCsv(accept), true));
for (const accept of JSON_WANTED)
  test(`Accept: ${accept} is given JSON`, () => assert.equal(prefersCsv(accept), false));
