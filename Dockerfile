FROM python:3.11-slim AS build
COPY . /casebook
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /casebook

FROM python:3.11-slim
COPY requirements.lock /tmp/
RUN pip install --no-cache-dir --requirement /tmp/requirements.lock \
    --extra-index-url https://download.pytorch.org/whl/cpu
COPY --from=build /wheel /wheel
RUN pip install --no-cache-dir --no-deps /wheel/*.whl && useradd --create-home casebook
# Any user may run it, so that results belong to who mounts the folder of a book.
ENV HOME=/tmp USER=casebook
USER casebook
WORKDIR /book
ENTRYPOINT ["casebook"]
