"""Forms as files: workbooks and CSV of the same bytes for the same form."""

import csv
import datetime
import io
import zipfile

from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, NamedStyle, PatternFill, Protection
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.writer.excel import ExcelWriter

from casebook import sheets as celltext
from casebook.files import replacing, write_text
from casebook.raters.layouts import RATINGS, SHEET

RUBRIC_SHEET, ABOUT_SHEET = "rubric", "about"
_MIDNIGHT = datetime.datetime(2000, 1, 1)
_ROW_HEIGHT = 180
_GREY = PatternFill("solid", start_color="FFE7E6E6")


class _SameBytes(zipfile.ZipFile):
    """Archive whose members carry no time and no trace of the machine."""

    def writestr(self, name, data, *_, **__):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
        super().writestr(info, data)

    def write(self, filename, arcname):
        with open(filename, "rb") as stream:  # noqa: PTH123 - openpyxl's own file
            self.writestr(arcname, stream.read())


def write_workbook(path, layout, rows, rubric, about):
    """Write one rater's form as a workbook."""
    book = Workbook()
    book.properties.creator = "casebook"
    book.properties.created = book.properties.modified = _MIDNIGHT
    for style in _styles():
        book.add_named_style(style)
    sheet = book.active
    sheet.title = SHEET
    _fill(sheet, layout, rows)
    _validate(sheet, layout, len(rows))
    _rubric(book.create_sheet(RUBRIC_SHEET), *rubric)
    _about(book.create_sheet(ABOUT_SHEET), about)
    buffer = io.BytesIO()
    # save_workbook would put the present time into the properties.
    ExcelWriter(book, _SameBytes(buffer, "w", zipfile.ZIP_DEFLATED)).save()
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getvalue())
    return path


def _styles():
    top = Alignment(wrap_text=True, vertical="top")
    return [
        NamedStyle("head", font=Font(bold=True), fill=_GREY, alignment=top),
        NamedStyle("given", fill=_GREY, alignment=top, number_format="@"),
        NamedStyle("rating", alignment=top, protection=Protection(locked=False)),
        NamedStyle("note", alignment=top, number_format="@", protection=Protection(locked=False)),
    ]


_STYLE = {"id": "given", "text": "given", "rating": "rating"}


def _put(cell, text, style):
    cell.value = celltext.for_workbook(text)
    cell.data_type = "s"  # text that begins with "=" would become a formula
    cell.style = style


def _fill(sheet, layout, rows):
    for number, column in enumerate(layout.columns, start=1):
        _put(sheet.cell(1, number), column.name, "head")
        sheet.column_dimensions[get_column_letter(number)].width = column.width
        style = _STYLE.get(column.kind, "note")
        for line, row in enumerate(rows, start=2):
            cell = sheet.cell(line, number)
            if column.locked:
                _put(cell, row[column.name], style)
            else:
                cell.style = style
    for line in range(2, len(rows) + 2):
        sheet.row_dimensions[line].height = _ROW_HEIGHT
    sheet.freeze_panes = "B2"
    sheet.print_title_rows = "1:1"
    _fit_to_width(sheet)
    sheet.protection.sheet = True
    sheet.protection.formatColumns = sheet.protection.formatRows = False


def _validate(sheet, layout, count):
    for number, column in enumerate(layout.columns, start=1):
        choices = column.choices if column.kind == "choice" else RATINGS
        if column.kind not in {"choice", "rating"} or not count:
            continue
        rule = DataValidation(
            type="list",
            formula1=f'"{",".join(map(str, choices))}"',
            allow_blank=True,
            showErrorMessage=True,
            errorTitle=column.name,
            error=f"Choose one of {', '.join(map(str, choices))}.",
        )
        letter = get_column_letter(number)
        rule.add(f"{letter}2:{letter}{count + 1}")
        sheet.add_data_validation(rule)


def _rubric(sheet, instructions, scales):
    lines = [(text,) for text in instructions]
    for scale, anchors in scales.items():
        lines += [(), (scale, "what it means")]
        lines += [(str(n), text) for n, text in zip(RATINGS, anchors, strict=True)]
    _lines(sheet, lines, (26, 90))


def _about(sheet, about):
    _lines(sheet, list(about.items()), (26, 70))


def _lines(sheet, lines, widths):
    for line, texts in enumerate(lines, start=1):
        for number, text in enumerate(texts, start=1):
            _put(sheet.cell(line, number), text, "given")
        if len(texts) == 1:
            sheet.merge_cells(start_row=line, end_row=line, start_column=1, end_column=2)
            sheet.row_dimensions[line].height = 32
    for number, width in enumerate(widths, start=1):
        sheet.column_dimensions[get_column_letter(number)].width = width
    _fit_to_width(sheet)
    sheet.protection.sheet = True


def write_csv(path, layout, rows):
    """Write one rater's form as CSV: the columns of the workbook's first sheet."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(layout.names)
    for row in rows:
        cells = [row[c.name] if c.locked else "" for c in layout.columns]
        writer.writerow([celltext.for_csv(cell) for cell in cells])
    return write_text(path, "\ufeff" + buffer.getvalue())


def rubric_text(instructions, scales, about):
    """Give the rubric as plain text, for forms in CSV."""
    lines = list(instructions)
    for scale, anchors in scales.items():
        lines += ["", scale]
        lines += [f"  {n}  {text}" for n, text in zip(RATINGS, anchors, strict=True)]
    lines += ["", *(f"{name}: {value}" for name, value in about.items())]
    return "\n".join(lines) + "\n"


def _fit_to_width(sheet):
    """Print all columns on one page: a torn row cannot be judged on paper."""
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
