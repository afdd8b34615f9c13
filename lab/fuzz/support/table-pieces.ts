import { pieces } from './pieces.ts';

/* What hostile statements are made of. The first list of a pair is what a server prints, the second what it never would. */

export const COMMENTS = pieces(
  `/**/ || /* x */ || /*!99999 , x int */ || /*!50100 PARTITION BY HASH (\`a\`) */ ||
/*!40101 SET NAMES gbk */ || /*M! */ || /*M!100301 COMPRESSED*/ || /*!100301 COMPRESSED*/ ||
/*+ MAX_EXECUTION_TIME(1) */ || -- x\u000a || --\u000a || --x\u000a || # x\u000a || /* || */ || /*/ ||
/*! || */;DROP DATABASE mysql;/* || /*M!999999 DEFAULT (sleep(9)) */ || /*!100301 COMPRESSED */`
);
export const SPACES = pieces(
  `  || \u000a || \u000d\u000a || \u0009 || \u000b || \u000c || \u00a0 || \u2028 || \u3000 || \ufeff ||
\u200b || \u0000 ||   \u000a  `
);
export const HEADS = pieces(
  `create table || CREATE OR REPLACE TABLE || CREATE TEMPORARY TABLE || CREATE TABLE IF NOT EXISTS ||
CREATE/**/TABLE || CREATE UNDEFINED VIEW || DELIMITER //\u000aCREATE TABLE ||
DROP TABLE \`p\`; CREATE TABLE || /*!CREATE*/ TABLE || CREATE SERVER || \ufeffCREATE TABLE ||
EXPLAIN CREATE TABLE || CREATE TABLE TABLE || CREATE USER || PREPARE s FROM "CREATE TABLE`
);
export const NAMES = pieces(
  `\`t || t\` || \`T\` || \`t\`\`x\` || \`p\` || \`mysql\`.\`t\` || \`t\`.\`t\` || \`../t\` || \`t/x\` ||
\`t \` || \` t\` || \`t\u0000\` || "t" || t || 't' || \`T\u200b\` || \`ｔ\` || \`mysql.t\` || \`\` ||
\`#sql-1\` || \`sync_meta\` || \`ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt\` ||
@t || \`t\`@\`x\` || \`mysql50\` || ?`
);
export const COLUMNS = pieces(
  `a || b || c || A || id || __proto__ || constructor || toString || select || block_index || tx_index || é ||
a b`
);
export const TYPES = pieces(
  `int(11) || int || int(10) unsigned || bigint(20) unsigned zerofill || tinyint(1) || smallint ||
decimal(40,18) || double || float(7,3) || bit(5) || date || time(2) || datetime(6) || timestamp(3) ||
year(4) || varchar(40) || char(3) || text || mediumblob || varbinary(20) || binary(3) || json || uuid ||
inet6 || enum('a','b''c',',') || set('x','y') || longtext || enum('a\\\\','\\'') || enum('😀',')','*/')`
);
export const ODD_TYPES = pieces(
  `geometry || point || int(99999999999) || varchar(1e3) || varchar(-1) || enum(') ||
enum('a\\'),(select 1)') || enum("a") || enum() || serial || national char(3) || vector(3) || xmltype ||
int unsigned signed || decimal(99,99) || bit(65) || datetime(7) || long || char(3) byte || varchar(max) ||
int(11)(11) || mysql.json || row(a int) || sys_refcursor || text(10 || set(_latin1'a') || unknown`
);
export const DEFAULTS = pieces(
  `NULL || 0 || -1.5 || 'a' || '' || 'it''s' || '\\\\' || '\\'' || 'a\\nb' || b'101' || x'4142' ||
current_timestamp() || now(6) || 1e10 || '/* ; DROP TABLE x; -- */' || '\`' || '\u2028' || '😀' ||
'%\\%_\\_' || '\\0' || CURRENT_TIMESTAMP || - 1 || '\\Z\\b\\q'`
);
export const ODD_DEFAULTS = pieces(
  `(sleep(9)) || (uuid()) || uuid() || sleep(9) || nextval(\`s\`) || NEXT VALUE FOR \`s\` || current_user() ||
@@version || @x || ? || _utf8mb4'a' || N'a' || 'a' 'b' || "a" || ' || '\\' || '''' || 0x4142 || 0b1 ||
TRUE || 1e400 || x'4' || b'2' || - || --1 || '\ud800' || current_timestamp(7) || now( || load_file(0x2f) ||
DEFAULT(\`a\`) || (select 1) || 'a' COLLATE utf8mb4_bin || $$x$$ || unix_timestamp()`
);
export const EXPRESSIONS = pieces(
  `\`a\` + 1 || lcase(\`a\`) || concat(\`a\`,'--') || concat(\`a\`,'/*',';') ||
cast(\`a\` as char charset binary) || - - \`a\` || \`a\` - -1 || if(\`a\` is null,0,1) ||
case when \`a\` > 1 then 2 else 3 end || substring(\`a\` from 1 for 2) || md5(concat('x',\`a\`)) ||
(\`a\`) || \`a\` <=> 1 || \`a\` collate utf8mb4_bin || convert(\`a\` using utf8mb4) || \`a\` in (1,2) ||
json_value(\`a\`,'$.x') || \`a\` / 2 * 3 || replace(\`a\`,'\\\\','''')`
);
export const ODD_EXPRESSIONS = pieces(
  `sleep(\`a\`) || load_file(\`a\`) || benchmark(9,\`a\`) || (select 1) || \`mysql\`.\`user\`.\`a\` ||
@x := \`a\` || \`a\` + @@port || lower (\`a\`) || \`a\` 'x' || \`a\` + \`b\` || \`a\`; ||
\`a\` -- x\u000a || \`a\` /* x */ || \`a\`/*!+sleep(1)*/ || \`a\`--1 || \`a\` # x\u000a || \`zz\` || 1 ||
((\`a\`) || \`a\`) || uuid() || rand() || current_user() || get_lock(\`a\`,9) || nextval(\`a\`) ||
user(\`a\`) || sys_exec(\`a\`) || \`a\` into outfile 0x61 || "a" || ? || row_count() || default(\`a\`) ||
values(\`a\`) || \`a\` regexp (0x28) || json_table(\`a\`) || xmltype(\`a\`) || char (\`a\`) ||
_latin1'x' = \`a\` || '????' = \`a\``
);
export const CHECKS = pieces(
  `json_valid(\`a\`) || JSON_VALID(\`b\`) || \`a\` > 1 || sleep(9) || (select 1) || \`a\` -- x\u000a ||
\`a\`) , (\`b\` || \`a\` = ')' || @@x || "a" || ';'`
);
export const ATTRIBUTES = pieces(
  `NOT NULL || NULL || AUTO_INCREMENT || COMMENT 'x; DROP TABLE y' || CHARACTER SET latin1 ||
COLLATE utf8mb4_bin || CHARSET utf8 || VIRTUAL || ON UPDATE current_timestamp(3) ||
CHARACTER SET utf8mb4 COLLATE utf8mb4_bin || STORED || PERSISTENT || CHARACTER SET ascii || NOT NULL`
);
export const ODD_ATTRIBUTES = pieces(
  `INVISIBLE || PRIMARY KEY || UNIQUE || REFERENCES \`mysql\`.\`user\` (\`x\`) || WITHOUT SYSTEM VERSIONING ||
COLUMN_FORMAT DYNAMIC || STORAGE DISK || CHARACTER SET constructor || COLLATE __proto__ ||
CHARACTER SET \`utf8\` || CHARACTER SET 'utf8' || CHARACTER SET binary || ON UPDATE sleep(9) ||
ON DELETE CASCADE || REF_SYSTEM_ID=0 || COMMENT "x" || COMMENT 5 || COMMENT 'x ||
GENERATED ALWAYS AS ROW START || SRID 4326 || ENCRYPTED=YES || MASKED WITH (x) || DEFAULT DEFAULT ||
COMPRESSED || USING BTREE || UNSIGNED || CHARACTER SET utf16 || COLLATE utf8mb4_0900_ai_ci || VALUE`
);
export const REFERENCES = pieces(
  `CASCADE || SET NULL || NO ACTION || RESTRICT || SET DEFAULT || cascade || DROP TABLE || 'x' || SET`
);
export const ENGINES = pieces(
  `InnoDB || MyISAM || Aria || 'InnoDB' || CONNECT || FEDERATED || MERGE || CSV || SPIDER || BLACKHOLE ||
SEQUENCE || S3 || x y || \`a\``
);
export const OPTIONS = pieces(
  `AUTO_INCREMENT=5 || DEFAULT CHARSET=utf8mb4 || CHARSET=latin1 || COLLATE=utf8mb4_unicode_ci ||
ROW_FORMAT=COMPRESSED || KEY_BLOCK_SIZE=8 || COMMENT='x; DROP TABLE y' || DEFAULT CHARACTER SET = utf8 ||
STATS_PERSISTENT=1 || CHECKSUM=1 || PACK_KEYS=1 || \`compression\`=1 || MAX_ROWS=1`
);
export const ODD_OPTIONS = pieces(
  `CONNECTION='mysql://u:p@h/d/t' || DATA DIRECTORY='/etc' || INDEX DIRECTORY='/etc' || UNION=(\`x\`,\`y\`) ||
PARTITION BY HASH (\`a\`) || TABLESPACE x || WITH SYSTEM VERSIONING || AS SELECT * FROM mysql.user ||
SELECT 1 INTO OUTFILE '/tmp/x' || LIKE \`mysql\`.\`user\` || IGNORE SELECT 1 || SEQUENCE=1 ||
ENCRYPTED=YES || ENCRYPTION_KEY_ID=1 || PASSWORD='x' || TABLE_TYPE='JDBC' || FILE_NAME='/etc/passwd' ||
INSERT_METHOD=LAST || WRAPPER='mysql' || CHARSET=constructor || COLLATE=__proto__ || ENGINE= ||
COMMENT=(1) || ENGINE=InnoDB=1 || COMMENT='x' 'y' || AUTO_INCREMENT=@x || ROW_FORMAT=\`;\``
);
export const TAILS = pieces(
  `; || ;; || ; DROP DATABASE mysql || ;\u000a || // || \\G || \\g || \u0000 || \u001a || ) || \` || ' || " ||
\\ || ; SET GLOBAL general_log=0; -- || $$ || \u000a\u000a`
);
