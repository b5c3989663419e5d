#include "tests/schema/random_values.h"

namespace sublite::testing {
namespace {

constexpr char kSettings[] = R"sql(
  set datestyle = 'ISO'; set intervalstyle = 'iso_8601'; set timezone = 'UTC';
  set extra_float_digits = 3; set bytea_output = 'hex';
  set lc_monetary = 'C'; set client_encoding = 'UTF8';
)sql";

constexpr char kValues[] = R"sql(
  create extension if not exists citext; create extension if not exists hstore;
  create type mood as enum ('so so', 'a "b"', 'NULL', '01', '1e5');
  create type duo as (a int, b text);
  create domain small as int;
  create domain narrow as numeric(9,3); create domain narrower as narrow;
  create domain free as numeric;
  create domain padded as char(3); create domain caseless as citext;
  create domain pairs as int[]; create domain words as text[];
  -- Impostors: names of built-in types mean nothing elsewhere.
  create schema other; create domain other.int4 as text;
  create type other.money as enum ('01', '$1.00');
  create type other.account_int as enum ('007', '1.0');

  create function words(most int) returns text language plpgsql as $$
    declare
      pieces text[] := array['a', 'Z', '"', '\', '''', ',', ';', '{', '}', '[',
        ']', '(', ' ', E'\t', E'\n', E'\r', E'\b', E'\f', E'\x01', E'\x1f',
        E'\x7f', 'é', '🦆', 'NULL', 'null', '=>', '$', '0', '1', '.', '-', 'e'];
      made text := '';
    begin
      for i in 1 .. floor(random() * (most + 1)) loop
        made := made || pieces[1 + floor(random() * array_length(pieces, 1))];
      end loop;
      return made;
    end $$;
  -- All magnitudes alike.
  create function whole() returns bigint language sql volatile as $$
    select ('x' || substr(md5(random()::text), 1, 16))::bit(64)::bigint
      >> floor(random() * 64)::int $$;
  create function double(low int, high int) returns text language sql volatile
    as $$ select case when random() < 0.5 then '-' else '' end
      || (1 + random() * 8)::text
      || 'e' || (low + floor(random() * (high - low + 1))) $$;
  -- p digits, s of them behind the point; every third one is whole if it can be.
  create function fixed(p int, s int) returns numeric language sql volatile
    as $$ select case when random() < 0.33 and s > 0 and s < p then trunc(x)
      else x end from (select (trunc((random() - 0.5) * 2e15::float8)::numeric
        % ('1e' || p)::numeric) * ('1e' || -s)::numeric as x) y $$;
  create function long_numeric() returns numeric language sql volatile
    as $$ select (whole()::text || lpad(abs(whole() / 10)::text, 18, '0') || '.'
      || substr(abs(whole() / 10)::text, 1, floor(random() * 19)::int) || '0')
      ::numeric $$;
  create function moment() returns timestamptz language sql volatile as $$
    select timestamptz '2000-01-01' + case when random() < 0.5
      then make_interval(days => floor(random() * 20000)::int - 10000,
                         secs => floor(random() * 86400))
      else make_interval(days => floor(random() * 103000000)::int - 2400000,
                         secs => random() * 86400) end $$;
  create function zoned() returns timetz language sql volatile as $$
    select ((time '00:00' + make_interval(secs => random() * 86399))::text
      || case when random() < 0.5 then '+' else '-' end
      || lpad(floor(random() * 16)::text, 2, '0')
      || case when random() < 0.5 then ''
         else ':' || lpad(floor(random() * 60)::text, 2, '0') end
      || case when random() < 0.8 then '' else ':00' end)::timetz $$;
  create function odd_zoned() returns timetz language sql volatile as $$
    select ((time '00:00' + make_interval(secs => random() * 86399))::text
      || case when random() < 0.5 then '+' else '-' end
      || (time '00:00:00' + make_interval(secs => floor(random() * 57599))))
      ::timetz $$;
  create function object() returns json language sql volatile as $$
    select case floor(random() * 6)::int when 0 then 'null' when 1 then '1e400'
      when 2 then to_json(words(6)) when 3 then to_json(fixed(9, 3))
      when 4 then (E'[1, \n' || to_json(words(3)) || ' , {}]')::json
      else json_build_object(words(3), words(5), 'a', array[true, null]) end $$;
  create function pair() returns hstore language sql volatile as $$
    select hstore(array[words(3), words(3), words(3)],
      array[words(5), case when random() < 0.5 then words(2) end, 'x'])
      - words(1) $$;

  -- For binary transfer: more types, and more of each.
  create type trio as (first duo, amounts numeric[], at timestamptz, of mood);
  create type gappy as (a int, gone text, b text);
  alter type gappy drop attribute gone;
  create type empty_row as ();
  create table owner (id int, gone int, name varchar(9), tags text[]);
  alter table owner drop column gone;
  create type textrange as range (subtype = text, collation = "C");
  create type floatrange as range (subtype = float8);
  create type duorange as range (subtype = duo);

  -- Months, days and microseconds of every sign and magnitude.
  create function span() returns interval language sql volatile as $$
    select make_interval(
        months => case when random() < 0.3 then 0
          else (whole() % 1000000000)::int end,
        days => case when random() < 0.3 then 0
          else (whole() % 1000000000)::int end)
      + case floor(random() * 4)::int when 0 then interval '0'
        when 1 then make_interval(hours => (whole() % 1000000)::int)
        when 2 then make_interval(secs => whole() % 100000)
        else make_interval(secs => (whole() % 100000000)::float8 / 1000000)
        end $$;
  create function bits(most int) returns varbit language sql volatile as $$
    select substr((whole()::bit(64)::text || whole()::bit(64)::text), 1,
      floor(random() * (most + 1))::int)::varbit $$;
  create function bytes(most int) returns bytea language sql volatile as $$
    select substr(decode(md5(random()::text) || md5(random()::text), 'hex'), 1,
      floor(random() * (most + 1))::int) $$;
  create function ip4() returns inet language sql volatile as $$
    select set_masklen('0.0.0.0'::inet + abs(whole() / 2) % 4294967296,
      case when random() < 0.5 then 32 else floor(random() * 33)::int end) $$;
  -- Many words of an address are zero, or ffff.
  create function ip6() returns inet language sql volatile as $$
    select set_masklen(string_agg(case when random() < 0.6 then '0'
        when random() < 0.2 then 'ffff'
        else to_hex(floor(random() * 65536)::int >> floor(random() * 16)::int)
        end, ':')::inet,
      case when random() < 0.5 then 128 else floor(random() * 129)::int end)
    from generate_series(1, 8) $$;
  create function ip() returns inet language sql volatile as $$
    select case when random() < 0.4 then ip4() else ip6() end $$;
  create function corner() returns point language sql volatile as $$
    select point(double(-20, 20)::float8, double(-5, 16)::float8) $$;
  create function corners(most int) returns text language sql volatile as $$
    select string_agg(corner()::text, ',') from generate_series(1,
      1 + floor(random() * most)::int) $$;
  create function lexeme(most int) returns text language sql volatile as $$
    select chr(39) || replace(replace(words(most), '\', '\\'), chr(39),
      chr(39) || chr(39)) || chr(39) $$;
  create function lexemes() returns tsvector language plpgsql as $$
    declare made text := '';
    begin
      for i in 1 .. floor(random() * 6) loop
        made := made || ' ''l' || substr(lexeme(4), 2);
        if random() < 0.6 then
          made := made || ':' || 1 + floor(random() * 16383);
          while random() < 0.6 loop
            made := made || substr('ABCD', floor(random() * 5)::int, 1) || ','
              || 1 + floor(random() * 16383);
          end loop;
        end if;
      end loop;
      return made::tsvector;
    end $$;
  create function question(depth int) returns tsquery language plpgsql as $$
    begin
      if depth = 0 or random() < 0.2 then
        return case when random() < 0.1 then ''::tsquery else
          ('''q' || substr(lexeme(3), 2) || (array['', ':A', ':*', ':*BD',
            ':ABCD'])[1 + floor(random() * 5)])::tsquery end;
      end if;
      case floor(random() * 4)
        when 0 then return !! question(depth - 1);
        when 1 then return question(depth - 1) && question(depth - 1);
        when 2 then return question(depth - 1) || question(depth - 1);
        else return tsquery_phrase(question(depth - 1), question(depth - 1),
          1 + floor(random() * 3)::int);
      end case;
    end $$;
  create function snapshot() returns pg_snapshot language sql volatile as $$
    select (x || ':' || x + 10 || ':' || (select coalesce(string_agg(
        (x + n)::text, ',' order by n), '') from generate_series(1, 9) n
        where random() < 0.3 and x = x))::pg_snapshot
    from (select 3 + abs(whole() / 8) as x) s $$;
  create function bounds() returns text language sql volatile as $$
    select (array['[]', '[)', '(]', '()'])[1 + floor(random() * 4)] $$;
)sql";

}  // namespace

const char* SessionSettingsSql() { return kSettings; }

const char* RandomValuesSql() { return kValues; }

}  // namespace sublite::testing
